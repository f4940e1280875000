// Reads the primitives of MLIR's bytecode encoding from a range of bytes, never past its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "isthmus/status.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace isthmus::importer {

// Where the first error of one import is kept. All cursors of an import share one.
class ErrorSink {
 public:
  // Keeps the first error. Returns false, so that a reading function can `return sink.fail(…)`.
  bool fail(StatusCode code, std::string message) {
    if (status_.ok()) status_ = Status(code, std::move(message));
    return false;
  }
  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }

 private:
  Status status_;
};

// A position in a range of bytes. Every read returns false, with the error in the sink, if the
// bytes do not suffice.
class Cursor {
 public:
  // `base` is the start of the whole program: errors name offsets from it.
  Cursor(llvm::ArrayRef<uint8_t> bytes, const uint8_t* base, ErrorSink& sink)
      : at_(bytes.begin()), end_(bytes.end()), base_(base), sink_(&sink) {}

  size_t remaining() const { return end_ - at_; }
  bool atEnd() const { return at_ == end_; }
  const uint8_t* base() const { return base_; }
  ErrorSink& sink() const { return *sink_; }

  bool byte(uint8_t& value) {
    if (at_ == end_) return fail("ends in the middle of an entry");
    value = *at_++;
    return true;
  }
  bool bytes(uint64_t count, llvm::ArrayRef<uint8_t>& value) {
    if (count > remaining()) return fail("has a length that exceeds the bytes that are left");
    value = llvm::ArrayRef<uint8_t>(at_, count);
    at_ += count;
    return true;
  }
  // 1 to 9 bytes, little-endian; the number of low zero bits of the first tells how many follow.
  bool varInt(uint64_t& value) {
    if (at_ != end_ && (*at_ & 1)) {
      value = *at_++ >> 1;
      return true;
    }
    return longVarInt(value);
  }
  // Zigzag-encoded.
  bool signedVarInt(int64_t& value) {
    uint64_t raw;
    if (!varInt(raw)) return false;
    value = static_cast<int64_t>((raw >> 1) ^ (~(raw & 1) + 1));
    return true;
  }
  bool varIntWithFlag(uint64_t& value, bool& flag) {
    if (!varInt(value)) return false;
    flag = value & 1;
    value >>= 1;
    return true;
  }
  // A count of things of which each takes at least one byte: never more than the bytes left, so
  // that memory may be reserved for them.
  bool count(uint64_t& value) {
    if (!varInt(value)) return false;
    if (value > remaining()) return fail("has a count that exceeds the bytes that are left");
    return true;
  }
  bool nullTerminated(llvm::StringRef& value);
  // One section: its kind and its contents, after any padding that aligns them.
  bool section(uint8_t& kind, llvm::ArrayRef<uint8_t>& contents);

  bool fail(llvm::StringRef what) const;

 private:
  bool longVarInt(uint64_t& value);

  const uint8_t* at_;
  const uint8_t* end_;
  const uint8_t* base_;
  ErrorSink* sink_;
};

}  // namespace isthmus::importer
