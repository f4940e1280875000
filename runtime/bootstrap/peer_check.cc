#include "runtime/bootstrap/peer_check.h"

#include <sys/random.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <vector>

namespace isthmus {
namespace {

constexpr size_t kSecretBytes = 32;
// Messages of collectives have hashes for tags.
constexpr uint64_t kTag = std::numeric_limits<uint64_t>::max();

// One for each process that hears it, so that none can pass on what it heard.
StatusOr<std::string> newSecrets(int numProcesses) {
  std::string secrets(numProcesses * kSecretBytes, '\0');
  for (size_t done = 0; done < secrets.size();) {
    ssize_t got = getrandom(secrets.data() + done, secrets.size() - done, 0);
    if (got <= 0) return internalError("the system gives no random numbers: ", strerror(errno));
    done += static_cast<size_t>(got);
  }
  return secrets;
}

std::string keyOf(const TransportOptions& options, int process) {
  return options.prefix + "secrets/" + std::to_string(process);
}

}  // namespace

Status checkPeers(Transport& transport, KeyValueStore& store, const TransportOptions& options) {
  const int self = options.processIndex;
  ISTHMUS_ASSIGN_OR_RETURN(std::string mine, newSecrets(options.numProcesses));
  ISTHMUS_RETURN_IF_ERROR(store.put(keyOf(options, self), mine));
  std::string heard(mine.size(), '\0');
  std::vector<OutgoingMessage> outgoing;
  std::vector<IncomingMessage> incoming;
  for (int process = 0; process < options.numProcesses; ++process) {
    if (process == self) continue;
    const size_t at = process * kSecretBytes;
    outgoing.push_back({process, kTag, mine.data() + at, kSecretBytes});
    incoming.push_back({process, kTag, heard.data() + at, kSecretBytes});
  }
  int lost = -1;
  ISTHMUS_RETURN_IF_ERROR(transport.exchange(outgoing, incoming, options.timeout, lost)
                              .withContext("the first message of the other processes of the job"));
  for (int process = 0; process < options.numProcesses; ++process) {
    if (process == self) continue;
    ISTHMUS_ASSIGN_OR_RETURN(std::string told, store.get(keyOf(options, process), options.timeout));
    if (told.size() == mine.size() && told.compare(self * kSecretBytes, kSecretBytes, heard,
                                                   process * kSecretBytes, kSecretBytes) == 0) {
      continue;
    }
    transport.close();
    return Status(StatusCode::kUnauthenticated,
                  internal::concatenate("what process ", self, " takes for process ", process,
                                        " does not know its secret: another program has "
                                        "connected to the job"));
  }
  return {};
}

}  // namespace isthmus
