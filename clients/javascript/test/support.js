import { Desk } from "@pausepoint/client";

export const DECIDED = {
  id: "r1",
  url: "https://desk.example.com/requests/r1/",
  status: "approved",
  decision: {
    verdict: "edit",
    by: "bob",
    comment: "half",
    answer: null,
    approved_input: { amount: 60 },
    approved_digest: "sha256:0",
  },
};
export const WAITING = { ...DECIDED, status: "pending", decision: null };

/** The response to the claim of an approved call. */
export function taken(request, lost_by = null) {
  return [200, { token: "ppr_1", lost_by, request }];
}

/** The responses to a call that is approved at once, claimed, run, reported and completed. */
export function once(request) {
  return [[201, request], taken(request), [201, {}], [200, {}]];
}

/** A desk whose server gives these responses one after the other: `[status, document, headers?]`, or an error. */
export function deskThatHears(responses, patience = 60) {
  const calls = [];
  const fetch = async (url, { method, headers, body }) => {
    calls.push({
      call: `${method} ${url.replace("https://desk.example.com/api/v1", "")}`,
      headers,
      body: body && JSON.parse(body),
    });
    const given = responses.shift();
    if (given instanceof Error) throw given;
    const [status, document, more] = given;
    const isPlain = typeof document === "string" || document instanceof Uint8Array;
    return new Response(isPlain ? document : JSON.stringify(document), { status, headers: more });
  };
  return { calls, desk: new Desk("https://desk.example.com/", "pp_x", { fetch, patience }) };
}
