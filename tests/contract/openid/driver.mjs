// Runs the published oidc-provider for tests in Python: a JSON command per line in, a JSON answer per line out.
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import Provider from "oidc-provider";

const [site, at] = process.argv.slice(2);
const tell = (answer) => void process.stdout.write(`${JSON.stringify(answer)}\n`);
// The provider's notices are no answers.
for (const level of ["log", "info", "warn"]) console[level] = console.error;
let handle;
let person = { sub: "d-1", groups: [] };

function newKey() {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "ES256" };
}

/** A provider with new keys; its sessions are in memory that all share. */
function start(issuer) {
  const provider = new Provider(issuer, {
    clients: [{
      client_id: "pausepoint",
      client_secret: "a secret of the client",
      redirect_uris: [`${site}${at}callback/`],
      post_logout_redirect_uris: [`${site}/login/`],
      backchannel_logout_uri: `${site}${at}log-out/`,
      backchannel_logout_session_required: true,
      id_token_signed_response_alg: "ES256",
      token_endpoint_auth_method: "client_secret_post",
    }, {
      client_id: "billing",
      client_secret: "a secret of the agent",
      grant_types: ["client_credentials"],
      response_types: [],
      redirect_uris: [],
      id_token_signed_response_alg: "ES256",
      token_endpoint_auth_method: "client_secret_post",
    }],
    jwks: { keys: [newKey()] },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "preferred_username"], groups: ["groups"] },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: { enabled: true },
      backchannelLogout: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        // The audience of an access token is the resource that its client asks for.
        getResourceServerInfo: (_, resource) => ({
          audience: resource,
          scope: "ask read decide",
          accessTokenTTL: 60,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "ES256" } },
        }),
      },
    },
    // Its own dispatcher refuses loopback, where the test listens.
    fetch: (url, { dispatcher: _, ...options }) => globalThis.fetch(url, options),
    cookies: { keys: ["a key of this test"] },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    findAccount: (_, sub) => ({
      accountId: sub,
      claims: () => ({ email: `${sub}@example.org`, email_verified: true, preferred_username: sub, ...person, sub }),
    }),
  });
  const callback = provider.callback();
  handle = async (request, response) => {
    if (!request.url.startsWith("/interaction/")) return callback(request, response);
    // Nobody is asked: the person of the test logs in and consents.
    const { params, grantId } = await provider.interactionDetails(request, response);
    const grant = grantId ? await provider.Grant.find(grantId) : new provider.Grant({ accountId: person.sub, clientId: params.client_id });
    grant.addOIDCScope(params.scope);
    const result = { login: { accountId: person.sub }, consent: { grantId: await grant.save() } };
    return provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  };
}

const server = createServer((request, response) => handle(request, response));
server.listen(0, "localhost", () => {
  const issuer = `http://localhost:${server.address().port}`;
  start(issuer);
  tell({ issuer });
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { act, ...given } = JSON.parse(line);
    if (act === "person") person = given;
    if (act === "rotate") start(issuer);
    tell({ done: act });
  });
});
