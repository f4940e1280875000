// The values that the evaluator computes with: arrays in row-major order and their elements.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "isthmus/status.h"
#include "isthmus/types.h"

namespace isthmus::reference {

// One element of any type. Integers and bools are in `bits`, extended as their type says; floats
// are in `re`, which holds every float type exactly; complex numbers in `re` and `im`.
struct Scalar {
  uint64_t bits = 0;
  double re = 0;
  double im = 0;
};

using Dims = std::vector<int64_t>;
using Index = std::vector<int64_t>;

// What one evaluation may hold at a time. Not thread-safe.
struct MemoryAccount {
  int64_t liveBytes = 0;
  int64_t maxBytes = 0;
};

// An array. Copies share the elements, so a tensor is written only by who made it, before anybody
// else has a copy.
class Tensor {
 public:
  Tensor() = default;

  // Zeros. kInvalidArgument if the type is not valid, kResourceExhausted if `account`, which may be
  // null, does not allow it; its bytes are given back with the last copy.
  static StatusOr<Tensor> make(ArrayType type, std::shared_ptr<MemoryAccount> account = nullptr);

  const ArrayType& type() const { return type_; }
  ElementType elementType() const { return type_.elementType; }
  const Dims& dims() const { return type_.dims; }
  int64_t rank() const { return static_cast<int64_t>(type_.dims.size()); }
  int64_t dim(int64_t d) const { return type_.dims[static_cast<size_t>(d)]; }
  int64_t size() const { return numElements_; }

  // Elements in row-major order, in the memory format of include/isthmus/types.h.
  const char* data() const { return storage_ ? storage_->bytes.data() : nullptr; }
  char* data() { return storage_ ? storage_->bytes.data() : nullptr; }
  size_t sizeBytes() const { return storage_ ? storage_->bytes.size() : 0; }

  Scalar get(int64_t position) const;
  // Rounds and wraps `value` to the element type.
  void set(int64_t position, const Scalar& value);
  // For integers and bools.
  int64_t integer(int64_t position) const { return static_cast<int64_t>(get(position).bits); }
  // Copies an element of the same type.
  void copyElement(int64_t position, const Tensor& source, int64_t sourcePosition);

  // The same elements under another type of the same size.
  Tensor withType(ArrayType type) const;

  // "dense<[1, 2]> : tensor<2xi32>", with all elements.
  std::string toString() const;

 private:
  struct Storage {
    std::vector<char> bytes;
    std::shared_ptr<MemoryAccount> account;
    ~Storage() {
      if (account) account->liveBytes -= static_cast<int64_t>(bytes.size());
    }
  };

  ArrayType type_;
  int64_t numElements_ = 0;
  size_t width_ = 0;
  std::shared_ptr<Storage> storage_;
};

// The value as its type has it: rounded, wrapped.
Scalar normalized(const Scalar& value, ElementType type);
// "1", "-1.500000e+00", "(1.000000e+00,0.000000e+00)", "true"
std::string toString(const Scalar& value, ElementType type);

// Position of an index in an array of these dimensions.
int64_t positionOf(const Dims& dims, const Index& index);
// Calls `body` with each index in row-major order, and its position, until it fails.
Status forEachIndex(const Dims& dims,
                    const std::function<Status(const Index& index, int64_t position)>& body);
bool isInside(const Dims& dims, const Index& index);

}  // namespace isthmus::reference
