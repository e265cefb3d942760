"""Settings of log-in that no variable of the environment changes."""

from __future__ import annotations

ACCOUNT_ADAPTER = "hitlsite.accounts.adapter.Accounts"
ACCOUNT_FORMS = {
    "login": "hitlsite.accounts.forms.LoginForm",
    "reset_password": "hitlsite.accounts.forms.ResetPasswordForm",
    "user_token": "hitlsite.accounts.forms.UserTokenForm",
}
SOCIALACCOUNT_ADAPTER = "hitlsite.accounts.single_sign_on.SocialAccounts"
SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"OAUTH_PKCE_ENABLED": True}}
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_EMAIL_SUBJECT_PREFIX = "[Pausepoint] "
#: Django's generator: allauth's would store mail addresses in a table of its own.
ACCOUNT_PASSWORD_RESET_TOKEN_GENERATOR = (
    "django.contrib.auth.tokens.PasswordResetTokenGenerator"  # noqa: S105 - a path
)
#: Lifetime of the link in a mail, in seconds.
PASSWORD_RESET_TIMEOUT = 3600
MFA_ADAPTER = "hitlsite.accounts.factor_forms.FactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
#: Our own check of a fresh log-in guards the pages: allauth's keeps a form and runs it later.
MFA_REAUTHENTICATION_REQUIRED = False
#: Every passkey checks the person, by a fingerprint or a PIN, so that each can replace the password.
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_WEBAUTHN_USER_VERIFICATION = "required"
MFA_RECOVERY_CODES_SHOW_ONCE = True
#: Clocks of devices may differ by one step. A step is used once (approvals/actions/factors.py).
MFA_TOTP_TOLERANCE = 1
#: Single sign-on can leave unconfirmed addresses in allauth's table. They are not used here.
MFA_ALLOW_UNVERIFIED_EMAIL = True
#: The window of all limits below, and the wait that a refused client is given.
LIMIT_SECONDS = 300
#: Wrong passwords count per account and address (`key`) and per address. A log-in in progress counts until it succeeds.
ACCOUNT_RATE_LIMITS = {
    "login": None,
    "login_failed": f"20/{LIMIT_SECONDS}s/key,100/{LIMIT_SECONDS}s/ip",
    "change_password": f"10/{LIMIT_SECONDS}s/user",
    "reset_password": f"3/{LIMIT_SECONDS}s/key,20/{LIMIT_SECONDS}s/ip",
    "reset_password_from_key": f"20/{LIMIT_SECONDS}s/ip",
    "single_sign_on": f"100/{LIMIT_SECONDS}s/ip",
    "log_out_by_provider": f"1000/{LIMIT_SECONDS}s/ip",
}
#: The challenge and the answer count.
MFA_RATE_LIMITS = {"webauthn_login": f"200/{LIMIT_SECONDS}s/ip"}
