// What a code generator hands over where there is no device to load it on.
#pragma once

#include <memory>
#include <utility>

#include "isthmus/backend.h"

namespace isthmus {

// Has the image of a program, and nothing to run it on.
template <typename Image>
class UnloadedProgram final : public Executable {
 public:
  explicit UnloadedProgram(Image image) : image_(std::move(image)) {}
  const ProgramInfo& info() const override { return image_.info; }
  Status run(const RunRequest&) const override { return unimplemented("there is no device"); }
  const Image& image() const { return image_; }

  // In place of loading.
  static StatusOr<std::shared_ptr<const Executable>> keep(Image image) {
    return StatusOr<std::shared_ptr<const Executable>>(
        std::make_shared<UnloadedProgram>(std::move(image)));
  }

 private:
  Image image_;
};

}  // namespace isthmus
