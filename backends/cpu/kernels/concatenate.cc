#include "backends/cpu/kernels/concatenate.h"

#include <algorithm>
#include <cstring>

#include "backends/cpu/kernels/parallel_for.h"
#include "base/integer_math.h"

namespace isthmus::cpu {
namespace {

constexpr int64_t kChunkBytes = 256 << 10;

// Copies what lies in bytes [begin, end) of the result.
void fill(const ConcatenateDescriptor& given, void* const* buffers, int64_t begin, int64_t end) {
  const int64_t* columns = given.columns();
  const int64_t rowBytes = columns[given.operands];
  auto* result = static_cast<char*>(buffers[given.operands]);
  int64_t row = begin / rowBytes, column = begin % rowBytes;
  // The last operand that begins here or before: those before it may be empty.
  int64_t operand = std::upper_bound(columns, columns + given.operands, column) - columns - 1;
  for (int64_t at = begin; at < end; ++operand) {
    if (operand == given.operands) {
      operand = column = 0;
      ++row;
    }
    const int64_t bytes = std::min(columns[operand + 1] - column, end - at);
    if (bytes <= 0) continue;
    const auto* from = static_cast<const char*>(buffers[operand]);
    const int64_t width = columns[operand + 1] - columns[operand];
    std::memcpy(result + at, from + row * width + column - columns[operand],
                static_cast<size_t>(bytes));
    at += bytes;
    column += bytes;
  }
}

}  // namespace

std::string concatenateDescriptor(int64_t rows, std::span<const int64_t> rowBytes,
                                  int64_t minParallelBytes) {
  std::string bytes;
  auto add = [&](int64_t number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  add(static_cast<int64_t>(rowBytes.size()));
  add(rows);
  add(minParallelBytes);
  int64_t column = 0;
  add(column);
  for (int64_t width : rowBytes) add(column += width);
  return bytes;
}

extern "C" int32_t isthmus_rt_concatenate(IsthmusRun* run, const void* descriptor,
                                          void* const* buffers) {
  const auto& given = *static_cast<const ConcatenateDescriptor*>(descriptor);
  const int64_t bytes = given.rows * given.columns()[given.operands];
  if (bytes < given.minParallelBytes) {
    if (bytes > 0) fill(given, buffers, 0, bytes);
    return 0;
  }
  const int64_t grain = std::max<int64_t>(1, given.minParallelBytes / kChunkBytes);
  parallelFor(*run->services, ceilDiv(bytes, kChunkBytes), grain, [&](int64_t begin, int64_t end) {
    fill(given, buffers, begin * kChunkBytes, std::min(end * kChunkBytes, bytes));
  });
  return 0;
}

}  // namespace isthmus::cpu
