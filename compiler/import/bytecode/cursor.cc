// Reads the primitives of MLIR's bytecode encoding from a range of bytes, never past its end.
#include "compiler/import/bytecode/cursor.h"

#include <bit>
#include <cstring>

namespace isthmus::importer {

bool Cursor::longVarInt(uint64_t& value) {
  uint8_t first;
  if (!byte(first)) return false;
  const int more = first == 0 ? 8 : std::countr_zero(first);
  llvm::ArrayRef<uint8_t> rest;
  if (!bytes(more, rest)) return false;
  uint64_t result = 0;
  for (int i = 0; i < more; ++i) result |= uint64_t{rest[i]} << (8 * i);
  if (more < 8) {
    // The bits above the marker in the first byte are the lowest of the value.
    result = (result << (7 - more)) | (first >> (more + 1));
  }
  value = result;
  return true;
}

bool Cursor::nullTerminated(llvm::StringRef& value) {
  const void* nul = remaining() == 0 ? nullptr : std::memchr(at_, 0, remaining());
  if (nul == nullptr) return fail("has a string without an end");
  const auto* last = static_cast<const uint8_t*>(nul);
  value = llvm::StringRef(reinterpret_cast<const char*>(at_), last - at_);
  at_ = last + 1;
  return true;
}

bool Cursor::section(uint8_t& kind, llvm::ArrayRef<uint8_t>& contents) {
  uint8_t kindAndAligned;
  uint64_t length;
  if (!byte(kindAndAligned) || !varInt(length)) return false;
  kind = kindAndAligned & 0x7f;
  if (kindAndAligned & 0x80) {
    uint64_t alignment;
    if (!varInt(alignment)) return false;
    if (!std::has_single_bit(alignment)) return fail("has an alignment that is not a power of 2");
    // The writer padded for a buffer that starts at a multiple of the alignment; ours may start
    // anywhere, so count from the start of the program. Nothing here needs aligned data.
    constexpr uint8_t kPadding = 0xCB;
    while (static_cast<uint64_t>(at_ - base_) & (alignment - 1)) {
      uint8_t padding;
      if (!byte(padding)) return false;
      if (padding != kPadding) return fail("has a section with wrong padding");
    }
  }
  return bytes(length, contents);
}

bool Cursor::fail(llvm::StringRef what) const {
  return sink_->fail(StatusCode::kInvalidArgument,
                     internal::concatenate("program bytecode ", std::string_view(what), " (byte ",
                                           at_ - base_, ")"));
}

}  // namespace isthmus::importer
