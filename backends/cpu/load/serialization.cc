// The container of serialized executables: a header that is checked, then the image field by field.
#include "backends/cpu/load/serialization.h"

#include <set>

#include "backends/cpu/load/cache_key.h"
#include "backends/cpu/load/host_target.h"
#include "backends/cpu/load/image_checks.h"
#include "base/digest.h"
#include "base/program/program_bytes.h"

namespace isthmus::cpu {
namespace {

constexpr std::string_view kMagic = "ISTHMUS\x02";

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

std::string serializeImage(const ProgramImage& image, std::string_view key) {
  ByteWriter body;
  writeInfo(body, image.info);
  body.writeList(image.objects, [&](const std::string& object) { body.write(object); });
  body.write(image.constants);
  body.write(image.arenaBytes);
  body.write(image.estimatedNs);
  body.write(image.mayBlock);
  body.write(image.callsUserCode);
  body.writeList(image.calls, [&](const ffi::CallSpec& call) { writeCall(body, call); });
  writeSteps(body, image.steps);
  std::string bytes = body.take();

  ByteWriter out;
  out.write(kMagic);
  out.write(buildId());
  out.write(image.features);
  out.write(Digest().add(image.features).add(bytes).hex());
  out.write(key.empty() ? std::string() : authenticationCode(key, image.features + '\0' + bytes));
  out.write(bytes);
  return out.take();
}

StatusOr<ProgramImage> deserializeImage(std::string_view bytes, std::string_view key) {
  ByteReader header(bytes);
  if (header.readBytes() != kMagic) {
    return invalidArgument("not a serialized executable of the isthmus CPU backend");
  }
  std::string id = header.readString();
  if (header.ok() && id != buildId()) {
    return failedPrecondition("the executable was made by \"", id, "\", this is \"", buildId(),
                              "\"; compile it again");
  }
  ProgramImage image;
  image.features = header.readString();
  std::string missing = missingFeatures(image.features, hostTarget().features);
  if (header.ok() && !missing.empty()) {
    return failedPrecondition("the executable needs CPU features that are missing here: ", missing);
  }
  std::string digest = header.readString();
  std::string code = header.readString();
  std::string_view body = header.readBytes();
  if (!header.ok() || !header.rest().empty() ||
      Digest().add(image.features).add(body).hex() != digest) {
    return invalidArgument("the serialized executable is damaged: its digest does not match");
  }
  if (!key.empty() &&
      !isEqualCode(code, authenticationCode(key, image.features + '\0' + std::string(body)))) {
    return failedPrecondition(
        "the serialized executable was not made with the key of ISTHMUS_CACHE_KEY_FILE");
  }
  ByteReader in(body);
  image.info = readInfo(in);
  image.objects = in.readList([&] { return in.readString(); });
  image.constants = in.readString();
  image.arenaBytes = in.read<int64_t>();
  image.estimatedNs = in.read<double>();
  image.mayBlock = in.read<int8_t>() != 0;
  image.callsUserCode = in.read<int8_t>() != 0;
  image.calls = in.readList([&] { return readCall(in); });
  image.steps = readSteps(in);
  if (!in.ok() || !in.rest().empty()) {
    return invalidArgument("the serialized executable is incomplete");
  }
  ISTHMUS_RETURN_IF_ERROR(checkImage(image));
  return image;
}

}  // namespace isthmus::cpu
