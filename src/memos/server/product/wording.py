"""Every sentence and fixed word of the MemOS wire, in one place: existing clients compare the success messages exactly."""

from __future__ import annotations

ADDED = "Memory added successfully"
SEARCHED = "Search completed successfully"
DELETED = "Memories deleted successfully"
NOT_DELETED = "Failed to delete memories"
LISTED = "Memories retrieved successfully"
GOT = "Memory retrieved successfully"
NO_MEMORY = "Memory with ID {id} not found"
FED_BACK = "Memory feedback successfully"
STATUS = "Memory get status successfully"
ALL_STATUS = "Scheduler status summary retrieved successfully"
QUEUE = "Scheduler task queue status retrieved successfully"
SUGGESTED = "Suggestions retrieved successfully"
CUBE_CREATED = "Cube created successfully"
CUBE_REGISTERED = "Cube registered successfully"
CHATTED = "Chat completed successfully"
LOOKED_UP = "Successfully"
CALLED = "Called Successfully"

NO_ROUTE = "Not Found"
VALIDATION = "Parameter validation error on {method} {path}: {message}"
TAKEN = (
    "cube {cube!r} belongs to another user, and {user!r} may not {need} it; its owner can share it "
    "(PUT /v1/cubes/{cube}/grants/{user}, level {need}), or choose another name"
)
WHOSE = "cube {cube!r} is owned by a user of another name; say for whom this is: give user_id"
NO_SKILL_UPLOAD = (
    "is_upload_skill: uploading skills is not possible in this version and nothing was stored; "
    "leave is_upload_skill out to store the messages themselves"
)
NO_BUSINESS = (
    "this business_key is not one of those that this server takes (BUSINESS_CHAT_KEYS, a JSON list, or "
    "MEMOS_SERVER_BUSINESS_KEYS)"
)
NOTHING_TO_DELETE = (
    "say what to delete: memory_ids, or file_ids, or any of filter, user_id and session_id; nothing was deleted"
)
ONE_WAY_TO_DELETE = (
    "memory_ids, file_ids and the selectors filter and session_id exclude each other; give one of them "
    "(nothing was deleted)"
)
NO_TASK = "no task {task!r} of user {user!r} is known; finished tasks are kept for seven days"
NO_TASKS = "no tasks of user {user!r} are known; finished tasks are kept for seven days"

DEFAULT_SESSION = "default_session"

# what a search field asks for that does not exist here, told in `notices`
NO_INTERNET = "internet_search: this server does not search the web"
SAME_MODE = "mode {mode!r} searches as 'fast' does: every search uses all channels, and no model is asked"
NO_NEIGHBORS = "neighbor_discovery: what stands beside a passage counts in its score, and is not added to the answer"
NO_HISTORY = "chat_history is not read by a search: put into the query what it needs to be understood"
NO_SOURCE = "source: there is one kind of retrieval here, for every source"
NO_THRESHOLD = "threshold is not used by a search: relativity is the lowest score"
NO_CONTEXT_FORMAT = "context_format {given!r} is not known; the data is that of 'memory'"
FILE_NOT_READ = "{where}: the file is kept by its name only; send its content as file_data to have it read"
FAST_LATER = (
    "mode 'fast' means something with async_mode 'sync' only: in the background, what is added is read as the cube says"
)
FINE_BY_RULES = "mode 'fine' with async_mode 'async' derives in the background, as every add does"

EXPLICIT, IMPLICIT = "Explicit Preference:", "Implicit Preference:"
PREF_NOTE = {
    "en": "\n# Note: these are preferences of the user. Explicit ones were said by the user; implicit ones were inferred from "
    "behaviour. Follow them where they bear on the question, let what the user says now go first, and keep them to yourself.",
    "zh": "\n# 注意：以上是用户的偏好。显式偏好由用户亲口说出，隐式偏好由其行为推断而来。"
    "与问题有关时请遵守；若与用户此刻所说的不一致，"
    "以当前的话为准；不要主动提及这些偏好。",
}
