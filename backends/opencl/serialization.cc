// The image field by field, in the CPU backend's envelope.
#include "backends/opencl/serialization.h"

#include "backends/shared/serialization/image_checks.h"
#include "backends/shared/serialization/sealed_bytes.h"
#include "backends/shared/staging/program_bytes.h"

namespace isthmus::opencl {
namespace {

constexpr std::string_view kMagic = "ISTHXPU\x03";

}  // namespace

std::string serializeImage(const ProgramImage& image, std::string_view device,
                           std::string_view key) {
  ByteWriter body;
  writeDeviceProgram(body, image);
  writeHostProgram(body, image.host);
  body.write(image.spirv);
  body.write(image.source);
  body.writeList(image.binaries, [&](const std::string& binary) { body.write(binary); });
  return sealBytes(kMagic, device, body.take(), key);
}

StatusOr<ProgramImage> deserializeImage(std::string_view bytes, std::string_view device,
                                        std::string_view key) {
  ISTHMUS_ASSIGN_OR_RETURN(std::string_view body,
                           unsealBytesFor(device, bytes, kMagic, "xpu", key));
  ByteReader in(body);
  ProgramImage image;
  readDeviceProgram(in, image);
  image.host = readHostProgram(in);
  image.spirv = in.readString();
  image.source = in.readString();
  image.binaries = in.readList([&] { return in.readString(); });
  if (!in.ok() || !in.rest().empty()) {
    return invalidArgument("the serialized executable is incomplete");
  }
  if (!image.kernels.empty() && image.spirv.empty() && image.source.empty()) {
    return contradiction("kernels without code");
  }
  ISTHMUS_RETURN_IF_ERROR(checkProgram(image, image.host, 0));
  return image;
}

}  // namespace isthmus::opencl
