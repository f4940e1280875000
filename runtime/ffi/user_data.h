// What the framework hands to the handlers of one launch: pointers by type.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isthmus/run_request.h"
#include "runtime/ref.h"

namespace isthmus::ffi {

// Filled by the caller's thread before a launch, then only read. Shared by the caller and its
// launches; does not own the data.
class LaunchUserData final : public UserData, public RefCounted<LaunchUserData> {
 public:
  // False if there is data of this type already.
  bool add(int64_t typeId, void* data) {
    if (find(typeId)) return false;
    if (!first_) {
      first_ = Entry{typeId, data};
    } else {
      more_.push_back({typeId, data});
    }
    return true;
  }

  std::optional<void*> find(int64_t typeId) const override {
    if (first_ && first_->typeId == typeId) return first_->data;
    for (const Entry& entry : more_) {
      if (entry.typeId == typeId) return entry.data;
    }
    return std::nullopt;
  }

 private:
  struct Entry {
    int64_t typeId;
    void* data;
  };
  std::optional<Entry> first_;  // frameworks add one
  std::vector<Entry> more_;
};

}  // namespace isthmus::ffi
