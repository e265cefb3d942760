"""What becomes of each act: by address, role, second factor, freshness and kind of credential. Written by hand."""

#: The last is an approver who was deactivated after the log-in.
ROLES = ("requester", "approver", "auditor", "administrator", "superuser", "deactivated")
#: No role needs a factor, and there is none; every role needs one, and it is missing; the same, and it was used at the log-in.
FACTORS = ("none", "missing", "present")
#: Just now; an hour ago; the password or single sign-on just now, but the factor an hour ago.
LOG_INS = ("fresh", "stale", "half")

#: An act, the factors and the log-ins of a line, and what becomes of it for each of ROLES:
#: ok (it is shown, decided or stored), no (403), absent (404), log-in (to the page of it, or 401), factor (to the page that sets
#: one up, or 403 second_factor_missing), again (a fresh log-in is needed) or page (to be decided on the page of the request).
WITH_A_SESSION = """
open the Inbox            none present | fresh stale half | ok      ok     ok      ok      ok      log-in
open the Inbox            missing      | fresh stale      | factor  factor factor  factor  factor  log-in
read the audit log        none present | fresh stale half | absent  absent ok      ok      ok      log-in
read the audit log        missing      | fresh stale      | factor  factor factor  factor  factor  log-in
set up an app             none present | fresh            | ok      ok     ok      ok      ok      log-in
set up an app             missing      | fresh            | ok      ok     ok      ok      ok      log-in
set up an app             none present | stale half       | again   again  again   again   again   log-in
set up an app             missing      | stale            | again   again  again   again   again   log-in
approve                   none present | fresh stale half | absent  ok     no      no      ok      log-in
approve                   missing      | fresh stale      | factor  factor factor  factor  factor  log-in
approve if critical       none present | fresh            | absent  ok     no      no      ok      log-in
approve if critical       none present | stale half       | absent  again  no      no      again   log-in
approve if critical       missing      | fresh stale      | factor  factor factor  factor  factor  log-in
approve by terms          none present | fresh            | absent  ok     no      no      ok      log-in
approve by terms          none present | stale half       | absent  again  no      no      again   log-in
approve by terms          missing      | fresh stale      | factor  factor factor  factor  factor  log-in
approve many              none present | fresh            | no      ok     no      no      ok      log-in
approve many              none present | stale half       | no      again  no      no      again   log-in
approve many              missing      | fresh stale      | factor  factor factor  factor  factor  log-in
list by REST              none present | fresh stale half | ok      ok     ok      ok      ok      log-in
list by REST              missing      | fresh stale      | factor  factor factor  factor  factor  log-in
approve by REST           none present | fresh stale half | absent  ok     no      no      ok      log-in
approve by REST           missing      | fresh stale      | factor  factor factor  factor  factor  log-in
approve critical by REST  none present | fresh stale half | absent  page   no      no      page    log-in
approve critical by REST  missing      | fresh stale      | factor  factor factor  factor  factor  log-in
approve by terms by REST  none present | fresh stale half | absent  page   no      no      page    log-in
approve by terms by REST  missing      | fresh stale      | factor  factor factor  factor  factor  log-in
see people                none present | fresh            | absent  absent absent  ok      ok      log-in
see people                none present | stale half       | absent  absent absent  again   again   log-in
see people                missing      | fresh stale      | factor  factor factor  factor  factor  log-in
add a team                none present | fresh            | absent  absent absent  ok      ok      log-in
add a team                none present | stale half       | absent  absent absent  again   again   log-in
add a team                missing      | fresh stale      | factor  factor factor  factor  factor  log-in
see the admin             none present | fresh            | no      no     no      no      ok      log-in
see the admin             none present | stale half       | no      no     no      no      again   log-in
see the admin             missing      | fresh stale      | factor  factor factor  factor  factor  log-in
add a group in the admin  none present | fresh            | no      no     no      no      ok      log-in
add a group in the admin  none present | stale half       | no      no     no      no      again   log-in
add a group in the admin  missing      | fresh stale      | factor  factor factor  factor  factor  log-in
list people by SCIM       none present | fresh stale half | no      no     no      no      no      log-in
list people by SCIM       missing      | fresh stale      | no      no     no      no      no      log-in
"""
#: The same with an API key, which has no log-in. On the pages, a key is no credential.
WITH_A_KEY = """
open the Inbox            none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
read the audit log        none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
set up an app             none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
approve                   none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
approve if critical       none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
approve by terms          none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
approve many              none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
list by REST              none present         | any | ok      ok     ok      ok      ok      log-in
list by REST              missing              | any | factor  factor factor  factor  factor  log-in
approve by REST           none present         | any | absent  ok     no      no      ok      log-in
approve by REST           missing              | any | factor  factor factor  factor  factor  log-in
approve critical by REST  none present         | any | absent  page   no      no      page    log-in
approve critical by REST  missing              | any | factor  factor factor  factor  factor  log-in
approve by terms by REST  none present         | any | absent  page   no      no      page    log-in
approve by terms by REST  missing              | any | factor  factor factor  factor  factor  log-in
see people                none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
add a team                none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
see the admin             none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
add a group in the admin  none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
list people by SCIM       none missing present | any | no      no     no      no      no      log-in
"""
#: And with a key for SCIM.
WITH_A_SCIM_KEY = """
open the Inbox            none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
read the audit log        none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
set up an app             none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
approve                   none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
approve if critical       none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
approve by terms          none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
approve many              none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
list by REST              none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
approve by REST           none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
approve critical by REST  none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
approve by terms by REST  none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
see people                none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
add a team                none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
see the admin             none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
add a group in the admin  none missing present | any | log-in  log-in log-in  log-in  log-in  log-in
list people by SCIM       none present         | any | no      no     no      ok      ok      log-in
list people by SCIM       missing              | any | no      no     no      no      no      log-in
"""
