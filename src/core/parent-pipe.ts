// The pipe by which a helper process notices that its parent has ended: the parent holds the other end and never writes.

/** File descriptor of the pipe in a helper process. */
export const PARENT_PIPE_FD = 3;

/** The same in a network guard, whose lower descriptors belong to the command that it starts. */
export const GUARD_PARENT_PIPE_FD = 6;
