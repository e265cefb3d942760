"""An authenticator for passkeys in software: it makes one, and signs what a page asks for."""

from __future__ import annotations

import json
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2.cose import ES256
from fido2.utils import sha256, websafe_decode, websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData, CollectedClientData

FLAG = AuthenticatorData.FLAG
VERIFIED = FLAG.UP | FLAG.UV


class Authenticator:
    """One passkey for one site. `flags` say what it claims to have checked."""

    def __init__(self, host: str = "testserver", origin: str = "") -> None:
        self.host = host
        self.origin = origin or f"https://{host}"
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = sha256(self.host.encode())[:16]
        self.handle = b""
        self.flags = VERIFIED

    def create(self, options: dict[str, Any]) -> str:
        self.handle = websafe_decode(options["user"]["id"])
        public = ES256.from_cryptography_key(self.key.public_key())
        credential = AttestedCredentialData.create(b"\0" * 16, self.id, public)
        data = AuthenticatorData.create(sha256(self.host.encode()), self.flags | FLAG.AT, 0, credential)
        made = AttestationObject.create("none", data, {})
        client = self._client_data(CollectedClientData.TYPE.CREATE, options)
        return self._answer({"attestationObject": websafe_encode(made), "clientDataJSON": websafe_encode(client)})

    def use(self, options: dict[str, Any]) -> str:
        data = AuthenticatorData.create(sha256(self.host.encode()), self.flags, 0)
        client = self._client_data(CollectedClientData.TYPE.GET, options)
        signature = self.key.sign(data + client.hash, ec.ECDSA(hashes.SHA256()))
        signed = {
            "authenticatorData": data,
            "clientDataJSON": client,
            "signature": signature,
            "userHandle": self.handle,
        }
        return self._answer({name: websafe_encode(value) for name, value in signed.items()})

    def _client_data(self, kind: str, options: dict[str, Any]) -> CollectedClientData:
        return CollectedClientData.create(kind, options["challenge"], self.origin)

    def _answer(self, response: dict[str, str]) -> str:
        name = websafe_encode(self.id)
        answer = {"id": name, "rawId": name, "type": "public-key", "response": response, "clientExtensionResults": {}}
        return json.dumps(answer)
