// Whether the connections of a job lead to its own processes.
#pragma once

#include "runtime/bootstrap/key_value_store.h"
#include "runtime/collectives/transport.h"

namespace isthmus {

// Tells each other process a secret that only this one and the job's key-value store know, and
// hears theirs; blocks until all have been heard. All processes call it, before anything else is
// sent. It keeps out whoever connects by mistake or guesses, not who reads the network: nothing is
// encrypted. Errors: kUnauthenticated, with the connections closed, if a peer does not know its
// secret; what the transport and the store give.
Status checkPeers(Transport& transport, KeyValueStore& store, const TransportOptions& options);

}  // namespace isthmus
