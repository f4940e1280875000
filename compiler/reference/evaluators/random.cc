// Random bits: threefry2x32 and philox4x32 (Salmon et al., SC 2011), laid out as XLA does.
#include <array>
#include <cmath>

#include "compiler/reference/evaluators/evaluators.h"

namespace isthmus::reference {
namespace {

uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

std::array<uint32_t, 2> threefry(uint64_t key, uint64_t counter) {
  static constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t keys[3] = {low(key), high(key), low(key) ^ high(key) ^ 0x1BD11BDA};
  uint32_t x0 = low(counter) + keys[0], x1 = high(counter) + keys[1];
  for (unsigned group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x0 += x1;
      x1 = x1 << rotation | x1 >> (32 - rotation);
      x1 ^= x0;
    }
    x0 += keys[(group + 1) % 3];
    x1 += keys[(group + 2) % 3] + group + 1;
  }
  return {x0, x1};
}

std::array<uint32_t, 4> philox(uint64_t key, uint64_t counterLow, uint64_t counterHigh) {
  uint32_t x[4] = {low(counterLow), high(counterLow), low(counterHigh), high(counterHigh)};
  uint32_t k0 = low(key), k1 = high(key);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t{0xD2511F53} * x[0], p1 = uint64_t{0xCD9E8D57} * x[2];
    uint32_t next[4] = {high(p1) ^ x[1] ^ k0, low(p1), high(p0) ^ x[3] ^ k1, low(p0)};
    std::copy(next, next + 4, x);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {x[0], x[1], x[2], x[3]};
}

// Stores the low bits of a word as an element.
void setBits(Tensor& tensor, int64_t position, uint64_t bits) {
  ElementType type = tensor.elementType();
  if (!isFloat(type)) {
    tensor.set(position, scalars::makeInteger(static_cast<int64_t>(bits)));
    return;
  }
  int width = bitWidth(type);
  if (width < 64) bits &= (uint64_t{1} << width) - 1;
  // Not by value: the payload of NaN counts.
  size_t bytes = tensor.sizeBytes() / static_cast<size_t>(tensor.size());
  for (size_t b = 0; b < bytes; ++b) {
    tensor.data()[static_cast<size_t>(position) * bytes + b] = static_cast<char>(bits >> (8 * b));
  }
}

// The first dimension of even size is made in two halves, else the largest one.
size_t splitDimension(const Dims& dims) {
  size_t largest = 0;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] % 2 == 0) return d;
    if (dims[d] > dims[largest]) largest = d;
  }
  return largest;
}

// Fills `output` and returns how many counters that took.
StatusOr<uint64_t> fillThreefry(Tensor& output, uint64_t key, uint64_t counter) {
  if (bitWidth(output.elementType()) == 64) {
    for (int64_t i = 0; i < output.size(); ++i) {
      auto words = threefry(key, counter + static_cast<uint64_t>(i));
      setBits(output, i, words[0] | uint64_t{words[1]} << 32);
    }
    return static_cast<uint64_t>(output.size());
  }
  Dims halves = output.dims();
  size_t split = splitDimension(halves);
  if (!halves.empty()) halves[split] = (halves[split] + 1) / 2;
  uint64_t count = 0;
  ISTHMUS_RETURN_IF_ERROR(forEachIndex(halves, [&](const Index& index, int64_t) -> Status {
    auto words = threefry(key, counter + count++);
    for (int word = 0; word < 2; ++word) {
      Index to = index;
      if (!to.empty()) to[split] = 2 * index[split] + word;
      if (to.empty() ? word == 0 : to[split] < output.dims()[split]) {
        setBits(output, positionOf(output.dims(), to), words[static_cast<size_t>(word)]);
      }
    }
    return {};
  }));
  return count;
}

}  // namespace

Status evaluateRngBitGenerator(Call& call) {
  auto op = llvm::cast<shlo::RngBitGeneratorOp>(call.op);
  const Tensor& state = call.tensor(0);
  bool isThreefry = op.getRngAlgorithm() == shlo::RngAlgorithm::THREE_FRY;
  if (state.elementType() != ElementType::kU64 || state.rank() != 1 || state.size() < 2 ||
      state.size() > (isThreefry ? 2 : 3)) {
    return unimplemented("a state of type ", state.type().toString());
  }
  auto type = llvm::cast<mlir::RankedTensorType>(call.resultTypes[1]);
  ISTHMUS_ASSIGN_OR_RETURN(Tensor output,
                           call.make(call.resultElementType(1), toDims(type.getShape())));
  uint64_t key = state.get(0).bits, counter = state.get(1).bits;
  bool hasHigh = state.size() == 3;
  uint64_t counterHigh = hasHigh ? state.get(2).bits : key;
  uint64_t used = 0;
  if (isThreefry) {
    ISTHMUS_ASSIGN_OR_RETURN(used, fillThreefry(output, key, counter));
  } else {
    int64_t perCounter = bitWidth(output.elementType()) == 64 ? 2 : 4;
    for (int64_t i = 0; i < output.size(); ++i) {
      used = static_cast<uint64_t>(i / perCounter);
      uint64_t at = counter + used;
      auto words = philox(key, at, counterHigh + (at < counter ? 1 : 0));
      auto w = static_cast<size_t>(i % perCounter);
      setBits(output, i,
              perCounter == 4 ? words[w] : words[2 * w] | uint64_t{words[2 * w + 1]} << 32);
    }
    if (output.size() != 0) ++used;
  }
  ISTHMUS_ASSIGN_OR_RETURN(Tensor next, call.make(ElementType::kU64, state.dims()));
  for (int64_t i = 0; i < state.size(); ++i) next.copyElement(i, state, i);
  uint64_t after = counter + used;
  next.set(1, scalars::makeInteger(static_cast<int64_t>(after)));
  if (hasHigh) {
    next.set(2, scalars::makeInteger(static_cast<int64_t>(counterHigh + (after < counter))));
  }
  call.results.push_back(std::move(next));
  call.results.push_back(std::move(output));
  return {};
}

// The specification leaves the numbers open: these are philox's, from the number of the call.
Status evaluateRng(Call& call) {
  auto op = llvm::cast<shlo::RngOp>(call.op);
  const Tensor& a = call.tensor(0);
  const Tensor& b = call.tensor(1);
  ISTHMUS_ASSIGN_OR_RETURN(Dims dims, integersOf(call.tensor(2)));
  ElementType type = a.elementType();
  ISTHMUS_ASSIGN_OR_RETURN(Tensor result, call.make(type, dims));
  uint64_t stream = call.interpreter.nextRandomStream();
  for (int64_t i = 0; i < result.size(); ++i) {
    auto words = philox(stream, static_cast<uint64_t>(i), 0);
    uint64_t bits = words[0] | uint64_t{words[1]} << 32;
    double uniform = std::ldexp(static_cast<double>(bits >> 11), -53);
    if (op.getRngDistribution() == shlo::RngDistribution::NORMAL) {
      // Box and Muller.
      double second = std::ldexp(static_cast<double>(words[2]), -32);
      double radius = std::sqrt(-2 * std::log1p(-uniform));
      double normal = radius * std::cos(2 * 3.14159265358979323846 * second);
      result.set(i, scalars::makeFloat(a.get(0).re + b.get(0).re * normal));
    } else if (isFloat(type)) {
      double value = a.get(0).re + (b.get(0).re - a.get(0).re) * uniform;
      Scalar rounded = normalized(scalars::makeFloat(value), type);
      // Rounding may reach the excluded end.
      result.set(i, rounded.re < b.get(0).re ? rounded : a.get(0));
    } else {
      uint64_t range = b.get(0).bits - a.get(0).bits;
      uint64_t offset = range == 0 ? 0 : bits % range;
      result.set(i, scalars::makeInteger(static_cast<int64_t>(a.get(0).bits + offset)));
    }
  }
  call.results.push_back(std::move(result));
  return {};
}

}  // namespace isthmus::reference
