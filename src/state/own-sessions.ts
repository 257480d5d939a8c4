/** Where conversations of the gateway's own stages are kept. It must not be a name that a plugin can have. */

/** Conversations of the built-in stages are kept apart from those of third-party plugins under this name. */
export const OWN_SESSIONS = "chat/";
