// The image field by field, in the CPU backend's envelope.
#include "backends/opencl/serialization.h"

#include "backends/cpu/load/image_checks.h"
#include "backends/cpu/load/sealed_bytes.h"
#include "backends/cpu/staging/program_bytes.h"

namespace isthmus::opencl {
namespace {

constexpr std::string_view kMagic = "ISTHXPU\x03";

}  // namespace

std::string serializeImage(const ProgramImage& image, std::string_view device,
                           std::string_view key) {
  ByteWriter body;
  cpu::writeDeviceProgram(body, image);
  cpu::writeHostProgram(body, image.host);
  body.write(image.spirv);
  body.write(image.source);
  body.writeList(image.binaries, [&](const std::string& binary) { body.write(binary); });
  return cpu::sealBytes(kMagic, device, body.take(), key);
}

StatusOr<ProgramImage> deserializeImage(std::string_view bytes, std::string_view device,
                                        std::string_view key) {
  ISTHMUS_ASSIGN_OR_RETURN(std::string_view body,
                           cpu::unsealBytesFor(device, bytes, kMagic, "xpu", key));
  ByteReader in(body);
  ProgramImage image;
  cpu::readDeviceProgram(in, image);
  image.host = cpu::readHostProgram(in);
  image.spirv = in.readString();
  image.source = in.readString();
  image.binaries = in.readList([&] { return in.readString(); });
  if (!in.ok() || !in.rest().empty()) {
    return invalidArgument("the serialized executable is incomplete");
  }
  if (!image.kernels.empty() && image.spirv.empty() && image.source.empty()) {
    return cpu::contradiction("kernels without code");
  }
  ISTHMUS_RETURN_IF_ERROR(cpu::checkProgram(image, image.host, 0));
  return image;
}

}  // namespace isthmus::opencl
