// Why a product or a convolution is not computed in some form.
#pragma once

#include <string>

namespace isthmus::cpu {

// Collects reasons, a few words each, if anybody asks for them.
class Refusals {
 public:
  explicit Refusals(std::string* text = nullptr) : text_(text) {}

  // Null for a form that is not refused. Returns whether it is.
  bool add(const char* form, const char* why) const {
    if (why && text_) *text_ += std::string(text_->empty() ? "" : "; ") + form + ": " + why;
    return why != nullptr;
  }

 private:
  std::string* text_;
};

}  // namespace isthmus::cpu
