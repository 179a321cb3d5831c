"""Tokens that log clients in to Amazon MSK with AWS identities."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hearth_api import ConfigError
from hearth_api.worker import OAuthBearerToken, TokenProvider

if TYPE_CHECKING:
    from botocore.credentials import Credentials

_HOST = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.(?:vpce\.)?amazonaws\.com(?:\.cn)?(?::|$)")
_SESSION = "aws-msk-iam-auth"
_KNOWN = (
    "awsProfileName", "awsRoleArn", "awsRoleSessionName", "awsRoleExternalId", "awsStsRegion", "awsRegion",
)  # fmt: skip
_IDLE = ("awsDebugCreds", "awsMaxRetries", "awsMaxBackOffTimeMs")
"""Options of Java's login module that do not affect the token."""

_TALKATIVE = ("auth", "credentials", "endpoint", "httpsession", "parsers")
"""Modules of botocore that log signatures, requests and responses at DEBUG."""


class MskIamTokenProvider(TokenProvider):
    """Signs a connect request with AWS credentials, like Amazon's `aws-msk-iam-auth`.

    Its options are those of `IAMLoginModule`: a profile, or a role that is assumed with the default credentials. The
    region comes from the brokers' names, else from the AWS configuration or `awsRegion`.
    """

    def configure(self, configs: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Read the brokers and the login module's options; raise ConfigError for an unsupported option."""
        for name in options.keys() - {*_KNOWN, *_IDLE}:
            raise ConfigError(f"unknown option {name} of IAMLoginModule", hint=f"use {', '.join(_KNOWN)}")
        if "awsRoleArn" not in options:
            for name in ("awsRoleSessionName", "awsRoleExternalId", "awsStsRegion"):
                if name in options:
                    raise ConfigError(f"{name} requires a role", hint="set awsRoleArn")
        self._sign = _signer()
        self._options = dict(options)
        self._servers = str(configs.get("bootstrap.servers", ""))

    def token(self) -> OAuthBearerToken:
        """Return a token that is valid for fifteen minutes."""
        region = self._region()
        value, lifetime_ms = self._sign(region, self._credentials(region))
        return OAuthBearerToken(value, lifetime_ms)

    def _region(self) -> str:
        if named := self._options.get("awsRegion"):
            return named
        if (found := _HOST.search(self._servers.split(",")[0].strip())) is not None:
            return found[1]
        region: str | None = self._session().get_config_variable("region")
        if region is None:
            raise ConfigError(
                f"the region of the brokers at {self._servers!r} is not known",
                hint="name it by awsRegion in sasl.jaas.config, or by AWS_REGION in the host's environment",
            )
        return region

    def _session(self) -> Any:
        import botocore.session

        return botocore.session.Session(profile=self._options.get("awsProfileName"))

    def _credentials(self, region: str) -> Credentials:
        session = self._session()
        if "awsRoleArn" in self._options:
            return self._of_role(session, region)
        found: Credentials | None = session.get_credentials()
        if found is None:
            raise ConfigError(
                "no AWS credentials found",
                hint="give the host a role, a profile, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            )
        return found

    def _of_role(self, session: Any, region: str) -> Credentials:
        from botocore.credentials import Credentials

        options = self._options
        client = session.create_client("sts", region_name=options.get("awsStsRegion", region))
        external = {"ExternalId": options["awsRoleExternalId"]} if "awsRoleExternalId" in options else {}
        name = options.get("awsRoleSessionName", _SESSION)
        answer = client.assume_role(RoleArn=options["awsRoleArn"], RoleSessionName=name, **external)["Credentials"]
        return Credentials(answer["AccessKeyId"], answer["SecretAccessKey"], answer["SessionToken"])


def _is_no_detail(record: logging.LogRecord) -> bool:
    return record.levelno > logging.DEBUG


def _signer() -> Callable[[str, Credentials], tuple[str, int]]:
    """Return the function that signs for a region; raise ConfigError if its package is not installed."""
    try:
        from aws_msk_iam_sasl_signer.MSKAuthTokenProvider import generate_auth_token_from_credentials_provider
        from botocore.credentials import CredentialProvider
    except ImportError as error:
        raise ConfigError(
            f"tokens for Amazon MSK need a package that is not installed: {error}",
            hint="install it with the host: pip install 'hearth-connect[msk]'",
        ) from error
    for name in _TALKATIVE:
        logging.getLogger(f"botocore.{name}").addFilter(_is_no_detail)

    class Given(CredentialProvider):  # type: ignore[misc]
        """Provides the given credentials."""

        def __init__(self, credentials: Credentials) -> None:
            super().__init__()
            self._credentials = credentials

        def load(self) -> Credentials:
            """Return the credentials."""
            return self._credentials

    def sign(region: str, credentials: Credentials) -> tuple[str, int]:
        value, lifetime_ms = generate_auth_token_from_credentials_provider(region, Given(credentials))
        return value, lifetime_ms

    return sign
