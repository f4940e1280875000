// Connects a datagram socket, which sends nothing but makes the system choose a route.
#include "runtime/collectives/gloo/local_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace isthmus {
namespace {

std::pair<std::string, std::string> splitAddress(const std::string& address) {
  size_t colon = address.rfind(':');
  bool isBare = colon == std::string::npos || address.back() == ']';
  std::string host = isBare ? address : address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return {host, isBare ? "1" : address.substr(colon + 1)};
}

// Empty if there is no route.
std::string sourceAddress(const addrinfo& target) {
  int fd = socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return "";
  std::string result;
  sockaddr_storage own{};
  socklen_t size = sizeof(own);
  char text[NI_MAXHOST];
  if (connect(fd, target.ai_addr, target.ai_addrlen) == 0 &&
      getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
      getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof(text), nullptr, 0,
                  NI_NUMERICHOST) == 0) {
    result = text;
  }
  close(fd);
  return result;
}

}  // namespace

StatusOr<std::string> localAddressTowards(const std::string& coordinator) {
  // An address of the documentation range (RFC 5737): reached by the default route if at all.
  bool isGuess = coordinator.empty();
  auto [host, port] = splitAddress(isGuess ? "192.0.2.1:1" : coordinator);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return Status(StatusCode::kUnavailable,
                  internal::concatenate("the coordinator's address ", coordinator,
                                        " cannot be resolved: ", gai_strerror(error)));
  }
  std::string address;
  // Version 4 first: on machines with both, "localhost" then is the same address for everybody.
  for (int family : {AF_INET, AF_INET6}) {
    for (addrinfo* a = found; a != nullptr && address.empty(); a = a->ai_next) {
      if (a->ai_family == family) address = sourceAddress(*a);
    }
  }
  freeaddrinfo(found);
  if (!address.empty()) return address;
  if (isGuess) return std::string("127.0.0.1");
  return Status(
      StatusCode::kUnavailable,
      internal::concatenate("no network interface reaches the coordinator at ", coordinator));
}

}  // namespace isthmus
