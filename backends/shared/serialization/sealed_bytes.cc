#include "backends/shared/serialization/sealed_bytes.h"

#include "backends/shared/serialization/cache_key.h"
#include "base/byte_stream.h"
#include "base/digest.h"

namespace isthmus {
namespace {

// What a key signs.
std::string signedText(std::string_view device, std::string_view body) {
  return std::string(device) + '\0' + std::string(body);
}

}  // namespace

std::string buildId() {
  return "isthmus " ISTHMUS_VERSION ", CPU interface " + std::to_string(kAbiVersion);
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

}  // namespace isthmus
