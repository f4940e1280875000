// The image field by field, in its envelope.
#include "backends/cpu/load/serialization.h"

#include "backends/cpu/load/host_target.h"
#include "backends/shared/serialization/image_checks.h"
#include "base/program/program_bytes.h"

namespace isthmus::cpu {
namespace {

constexpr std::string_view kMagic = "ISTHMUS\x02";

// The code itself is not looked at.
Status checkImage(const ProgramImage& image) {
  ISTHMUS_RETURN_IF_ERROR(checkInfo(image.info));
  ISTHMUS_RETURN_IF_ERROR(checkCalls(image.calls));
  if (image.arenaBytes < 0) return contradiction("size of the arena");
  if (!image.steps.isValid()) return contradiction("steps");
  return {};
}

}  // namespace

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
  return sealBytes(kMagic, image.features, body.take(), key);
}

StatusOr<ProgramImage> deserializeImage(std::string_view bytes, std::string_view key) {
  ISTHMUS_ASSIGN_OR_RETURN(UnsealedBytes unsealed, unsealBytes(bytes, kMagic, "CPU", key));
  ISTHMUS_RETURN_IF_ERROR(checkFeatures(unsealed.device));
  ProgramImage image;
  image.features = std::move(unsealed.device);
  ByteReader in(unsealed.body);
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
