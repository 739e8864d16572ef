"""The verb that says what is known of somebody."""

from __future__ import annotations

from datetime import date, datetime

from memos.client.connected import Connected
from memos.client.encoding import body
from memos.memory.profile import Profile


class ProfileVerbs(Connected):
    """What is known of the user, or of somebody else."""

    async def profile(
        self,
        *,
        about: str | None = None,
        max_tokens: int = 400,
        reference_time: datetime | date | str | float | None = None,
        user: str | None = None,
        cube: str | None = None,
    ) -> Profile:
        """What is known of somebody, ready for a prompt; see `AsyncMemOS.profile`. Raises InvalidInput."""
        params = body(about=about, max_tokens=max_tokens, reference_time=reference_time, user=self._as(user), cube=cube)
        return await self._get("/v1/profile", Profile, params)
