// The code field by field, behind the rest of the program.
#include "backends/opencl/serialization.h"

#include "backends/shared/serialization/image_checks.h"
#include "backends/shared/staging/program_bytes.h"

namespace isthmus::opencl {
namespace {

constexpr ProgramKind kKind{"ISTHXPU\x03", "xpu"};

}  // namespace

std::string serializeImage(const ProgramImage& image, std::string_view device,
                           std::string_view key) {
  return sealProgram(kKind, device, image, key, [&](ByteWriter& out) {
    out.write(image.spirv);
    out.write(image.source);
    out.writeList(image.binaries, [&](const std::string& binary) { out.write(binary); });
  });
}

StatusOr<ProgramImage> deserializeImage(std::string_view bytes, std::string_view device,
                                        std::string_view key) {
  ProgramImage image;
  ISTHMUS_RETURN_IF_ERROR(unsealProgram(kKind, device, bytes, key, image, [&](ByteReader& in) {
    image.spirv = in.readString();
    image.source = in.readString();
    image.binaries = in.readList([&] { return in.readString(); });
  }));
  if (!image.kernels.empty() && image.spirv.empty() && image.source.empty()) {
    return contradiction("kernels without code");
  }
  ISTHMUS_RETURN_IF_ERROR(checkProgram(image, image.host, 0, &linkedHostFunctions()));
  return image;
}

}  // namespace isthmus::opencl
