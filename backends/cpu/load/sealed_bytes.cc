#include "backends/cpu/load/sealed_bytes.h"

#include <algorithm>
#include <set>

#include "backends/cpu/abi.h"
#include "backends/cpu/load/cache_key.h"
#include "backends/cpu/load/host_target.h"
#include "base/byte_stream.h"
#include "base/digest.h"

namespace isthmus::cpu {
namespace {

std::set<std::string_view> presentFeatures(std::string_view list) {
  std::set<std::string_view> features;
  while (!list.empty()) {
    size_t comma = std::min(list.find(','), list.size());
    std::string_view feature = list.substr(0, comma);
    if (feature.size() > 1 && feature[0] == '+') features.insert(feature.substr(1));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return features;
}

// What a key signs.
std::string signedText(std::string_view device, std::string_view body) {
  return std::string(device) + '\0' + std::string(body);
}

}  // namespace

std::string buildId() {
  return "isthmus " ISTHMUS_VERSION ", CPU interface " + std::to_string(kAbiVersion);
}

std::string missingFeatures(std::string_view needed, std::string_view available) {
  std::set<std::string_view> here = presentFeatures(available);
  std::string missing;
  for (std::string_view feature : presentFeatures(needed)) {
    if (here.count(feature) != 0) continue;
    if (!missing.empty()) missing += ", ";
    missing += feature;
  }
  return missing;
}

Status checkFeatures(std::string_view needed) {
  std::string missing = missingFeatures(needed, hostTarget().features);
  if (missing.empty()) return {};
  return failedPrecondition("the executable needs CPU features that are missing here: ", missing);
}

std::string sealBytes(std::string_view magic, std::string_view device, std::string_view body,
                      std::string_view key) {
  ByteWriter out;
  out.write(magic);
  out.write(buildId());
  out.write(device);
  out.write(Digest().add(device).add(body).hex());
  out.write(key.empty() ? std::string() : authenticationCode(key, signedText(device, body)));
  out.write(body);
  return out.take();
}

StatusOr<UnsealedBytes> unsealBytes(std::string_view bytes, std::string_view magic,
                                    std::string_view backend, std::string_view key) {
  ByteReader header(bytes);
  if (header.readBytes() != magic) {
    return invalidArgument("not a serialized executable of the isthmus ", backend, " backend");
  }
  std::string id = header.readString();
  if (header.ok() && id != buildId()) {
    return failedPrecondition("the executable was made by \"", id, "\", this is \"", buildId(),
                              "\"; compile it again");
  }
  UnsealedBytes unsealed;
  unsealed.device = header.readString();
  std::string digest = header.readString();
  std::string code = header.readString();
  unsealed.body = header.readBytes();
  if (!header.ok() || !header.rest().empty() ||
      Digest().add(unsealed.device).add(unsealed.body).hex() != digest) {
    return invalidArgument("the serialized executable is damaged: its digest does not match");
  }
  if (!key.empty() &&
      !isEqualCode(code, authenticationCode(key, signedText(unsealed.device, unsealed.body)))) {
    return failedPrecondition(
        "the serialized executable was not made with the key of ISTHMUS_CACHE_KEY_FILE");
  }
  return unsealed;
}

StatusOr<std::string_view> unsealBytesFor(std::string_view device, std::string_view bytes,
                                          std::string_view magic, std::string_view backend,
                                          std::string_view key) {
  ISTHMUS_ASSIGN_OR_RETURN(UnsealedBytes unsealed, unsealBytes(bytes, magic, backend, key));
  if (unsealed.device == device) return unsealed.body;
  return failedPrecondition("the executable is for \"", unsealed.device, "\", here is \"", device,
                            "\"; compile it again");
}

}  // namespace isthmus::cpu
