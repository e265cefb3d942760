#!/usr/bin/env bash
# PyJWT: an issuer signs access tokens with PS256 and publishes its RSA key without "alg", which is optional (RFC 7517, section 4.4). A service
# verifies them as the documentation shows: the key of the set by its "kid", and the algorithms that it accepts.
# Guess: PS256 is accepted if it is among the algorithms. Seen: each RSA key without "alg" counts as one for RS256, so every token is refused
# with "Token algorithm 'PS256' does not match the key's algorithm 'RS256'". The same holds for RS384, RS512, PS384 and PS512. The library jose
# for Node.js takes the same keys for all of them. Workaround: build the key with the algorithm of the token, after checking that one:
# PyJWK(jwk, algorithm="PS256").
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check "pyjwt[crypto]==2.15.1"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund jose@6.1.0 >/dev/null
cat >look.mjs <<'JAVASCRIPT'
import { readFileSync } from "node:fs";
import { createLocalJWKSet, jwtVerify } from "jose";

const { set, tokens } = JSON.parse(readFileSync("given.json", "utf8"));
const answers = {};
for (const [algorithm, token] of Object.entries(tokens)) {
  const verified = await jwtVerify(token, createLocalJWKSet(set), { algorithms: Object.keys(tokens), audience: "desk" });
  answers[algorithm] = verified.payload.sub;
}
console.log(JSON.stringify(answers));
JAVASCRIPT
venv/bin/python - <<'PYTHON'
import json
import subprocess
import time
from importlib.metadata import version
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

key = rsa.generate_private_key(65537, 2048)
public = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True) | {"kid": "k", "use": "sig"}
claims = {"sub": "billing", "aud": "desk", "exp": int(time.time()) + 600}
algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
tokens = {name: jwt.encode(claims, key, name, {"kid": "k"}) for name in algorithms}
Path("given.json").write_text(json.dumps({"set": {"keys": [public]}, "tokens": tokens}))
assert "alg" not in public


def subject(token, chosen):
    try:
        return jwt.decode(token, chosen, algorithms=algorithms, audience="desk")["sub"]
    except jwt.InvalidAlgorithmError as error:
        return str(error)


by_set = {name: subject(token, jwt.PyJWKSet([public])["k"]) for name, token in tokens.items()}
built = {name: subject(token, jwt.PyJWK(public, name)) for name, token in tokens.items()}
javascript = json.loads(subprocess.run(["node", "look.mjs"], check=True, capture_output=True, text=True).stdout)
print("pyjwt", version("pyjwt"), "expected the subject of each token, as in jose 6.1.0; seen:")
for name in algorithms:
    print(" ", name, "|", by_set[name], "|", javascript[name])
assert by_set["RS256"] == "billing"
assert all("does not match" in by_set[name] for name in algorithms[1:])
assert set(built.values()) == set(javascript.values()) == {"billing"}
PYTHON
