// Package coord is a narrow client of a YDB coordination node: a session,
// ephemeral semaphores and the watch of their owners, and semaphores as small
// pieces of data that are watched. It stands on the SDK's
// coordination client and takes in what that client leaves to its callers:
//
//   - The SDK drops the status of every reply. Here a refused request is a
//     *StatusError, a missing semaphore is ErrNotFound, and only a wait that
//     really ran out is ErrTimeout.
//   - After the server said that a session is gone (expired, stolen, node
//     missing), the SDK attaches again in a hot loop. Here the session ends at
//     once, with the reason as the cause of its context. Streams that fail for
//     other reasons are opened again at most once per ReconnectDelay.
//   - The SDK notices a mute server late, with its default timings after the
//     server has given the semaphores away. Here the session ends SessionTimeout
//     after the last message of the server, by a timer of its own.
//   - Calls of the SDK may hang when its session dies. Here every call ends with
//     its context, with the session, or with CallTimeout.
//   - A cancelled acquire may leave a waiter behind on the server, which would
//     become an owner that nobody knows of. Here a cancelled acquire is withdrawn
//     before it returns; where that cannot be confirmed, the session is given up.
//   - Two acquires of one name confuse the SDK. Here the second is ErrBusy.
//   - The SDK hardly ever delivers the end of a session, so that the server keeps
//     its semaphores until they expire. Here Close releases what is still held.
//   - WithSessionStopTimeout sets another field than its name says. It is not used.
package coord
