// HMAC as RFC 2104 has it, over LLVM's SHA-256.
#include "backends/shared/serialization/cache_key.h"

#include <fstream>
#include <iterator>

#include "isthmus/flags.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SHA256.h"

namespace isthmus {
namespace {

constexpr size_t kBlockBytes = 64;
constexpr size_t kMinKeyBytes = 32;

std::string sha256(std::string_view a, std::string_view b) {
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(a.data(), a.size()));
  hash.update(llvm::StringRef(b.data(), b.size()));
  auto result = hash.final();
  return std::string(result.begin(), result.end());
}

}  // namespace

StatusOr<std::string> cacheKey() {
  const std::string& path = flagString("ISTHMUS_CACHE_KEY_FILE");
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::string key{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (key.size() >= kMinKeyBytes) return key;
  return failedPrecondition("ISTHMUS_CACHE_KEY_FILE=", path, ": expected a readable file of at ",
                            "least ", kMinKeyBytes, " bytes, got ", key.size());
}

std::string authenticationCode(std::string_view key, std::string_view message) {
  std::string block(key.size() > kBlockBytes ? sha256(key, "") : std::string(key));
  block.resize(kBlockBytes);
  std::string inner = block, outer = block;
  for (char& c : inner) c ^= 0x36;
  for (char& c : outer) c ^= 0x5c;
  return sha256(outer, sha256(inner, message));
}

bool isEqualCode(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace isthmus
