"""Credentials of an assumed role of AWS, renewed before they end."""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import Request, urlopen

from hearth_api import ConfigError, ConnectError

_TYPE = "application/x-www-form-urlencoded"
_TIMEOUT = 30


class AssumedRole:
    """Assumes a role with an access key, as Confluent's `AwsAssumeRoleCredentialsProvider`; a provider of obstore."""

    def __init__(self, settings: Mapping[str, str], region: str) -> None:
        """`settings` has the keys `sts.role.*` of the provider, and the access key that may assume the role."""
        self._role = settings.get("sts.role.arn", "")
        if not self._role:
            raise ConfigError("s3.credentials.provider.sts.role.arn", None, "names the role to assume")
        self._session = settings.get("sts.role.session.name", "") or "hearth"
        self._external = settings.get("sts.role.external.id", "")
        self._key, self._secret = settings["aws.access.key.id"], settings["aws.secret.access.key"]
        if not self._key:
            raise ConfigError("aws.access.key.id", "", "is the key that assumes the role")
        self._region = region
        self._url = settings.get("sts.endpoint") or f"https://sts.{region}.amazonaws.com"

    def __call__(self) -> dict[str, Any]:
        """Return credentials and when they end; obstore asks again before that."""
        fields = {"Action": "AssumeRole", "Version": "2011-06-15", "RoleArn": self._role}
        fields["RoleSessionName"] = self._session
        if self._external:
            fields["ExternalId"] = self._external
        body = urlencode(fields, quote_via=quote).encode()
        request = Request(f"{self._url}/", body, self._headers(body), method="POST")  # noqa: S310 - the URL is of a setting
        try:
            with urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310
                text = answer.read().decode()
        except HTTPError as error:
            raise ConnectError(f"cannot assume {self._role}: {_tag(error.read().decode(), 'Message')}") from error
        except URLError as error:
            raise ConnectError(f"cannot assume {self._role}: {self._url} does not answer: {error.reason}") from error
        return {
            "access_key_id": _tag(text, "AccessKeyId"),
            "secret_access_key": _tag(text, "SecretAccessKey"),
            "token": _tag(text, "SessionToken"),
            "expires_at": datetime.fromisoformat(_tag(text, "Expiration").replace("Z", "+00:00")),
        }

    def _headers(self, body: bytes) -> dict[str, str]:
        """Return headers with a signature of version 4."""
        moment = datetime.fromtimestamp(time.time(), timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        headers = {"content-type": _TYPE, "host": urlsplit(self._url).netloc, "x-amz-date": moment}
        names = ";".join(headers)
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        asked = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
        scope = f"{moment[:8]}/{self._region}/sts/aws4_request"
        signed = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(asked.encode()).hexdigest()}"
        secret = f"AWS4{self._secret}".encode()
        for part in scope.split("/"):
            secret = hmac.digest(secret, part.encode(), "sha256")
        signature = hmac.digest(secret, signed.encode(), "sha256").hex()
        credential = f"Credential={self._key}/{scope}, SignedHeaders={names}, Signature={signature}"
        return {**headers, "authorization": f"AWS4-HMAC-SHA256 {credential}"}


def _tag(text: str, name: str) -> str:
    found = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return found[1].strip() if found else text[:200]
