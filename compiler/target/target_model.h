// What the compiler knows of the device that it compiles for.
#pragma once

#include <cstdint>
#include <string>

namespace isthmus {

enum class DeviceKind {
  kCpu,  // few threads, each with vector registers: a loop's lanes are elements of a vector
  kGpu,  // many threads, each for one element at a time: a loop's lanes are threads
};

// Plain data. The default is a 64-bit CPU of no special abilities: what command lines and tests get
// that name no device. `hostTarget()` of the CPU backend describes the machine at hand.
struct TargetModel {
  DeviceKind device = DeviceKind::kCpu;

  // As LLVM names them: "x86_64-pc-linux-gnu", "znver3", "+avx2,+fma,…".
  std::string triple;
  std::string cpu;
  std::string features;

  // What one thread has.
  unsigned vectorBits = 128;  // of a register; 0: elements are computed one by one
  bool fma = false;           // a * b + c in one instruction
  bool f16c = false;          // conversions between f16 and f32
  bool avx512 = false;        // F, BW, DQ and VL together
  bool avx512Bf16 = false;
  bool avx512Vbmi = false;      // shuffles of bytes
  bool masksAsIntegers = true;  // the lanes of a comparison can be read as the bits of an integer
  // The largest distance of lanes, in elements, at which vectors are read or written whole and
  // taken apart or interleaved in registers: shuffling must cost less than single accesses.
  int64_t maxInterleave = 4;
  int64_t l2Bytes = 1 << 20;

  // What a work-group of threads has (GPUs).
  unsigned subgroupSize = 1;  // threads that run in step
  unsigned groupSize = 1;     // threads of one group
  int64_t localBytes = 0;     // memory that a group's threads share
  unsigned atomicBits = 32;   // of the longest integers that threads exchange in memory
  unsigned threadBits = 0;    // of neighbours that a thread reads and writes at once; 0: of none
  int64_t bufferBytes = 1;    // the address of every buffer is a multiple of so many

  // Speeds of one thread (a CPU) or of the whole device (a GPU).
  double memoryBytesPerNs = 10;
  double cacheBytesPerNs = 40;           // of what stays in the near cache
  int64_t cacheResidentBytes = 1 << 20;  // traffic up to which that speed holds
  double elementOpsPerNs = 16;           // additions of 4-byte elements
  double scalarOpsPerNs = 1;             // updates at computed places, one by one
  // Of a product whose operands stay in registers: its multiplications and additions keep all units
  // busy.
  double productFlopsPerElementOp = 3;

  // What fusion weighs, in units of one element's addition (about 0.1 ns).
  double costPerByte = 0.5;    // of a value that is written and read back
  double costPerKernel = 300;  // of one more kernel

  // Limits on what one kernel works on.
  int64_t maxRowBytes = 256 << 10;         // of a row that is read several times: stays in cache
  int64_t maxSingleRowElements = 1 << 16;  // of such a row where there is only one
  int64_t minTransposeElements = 4096;     // below, a strided read costs less than a kernel
  int64_t accumulatorElements = 1024;      // of running sums side by side
  int64_t minAccumulatedRows = 16;         // for running sums to be worth their way through memory
  int64_t accumulatedRows = 4;             // added to a running sum while it is in a register
  int64_t maxRowPieces = 8;                // long stretches of rows are read faster than short ones
  unsigned reductionChains = 4;            // of a row: enough to hide the latency of an addition
  unsigned transposedBlockRows = 16;       // of a block that is transposed in registers
  int64_t maxBlockRowVectors = 16;         // of rows whose reductions are folded together
  int64_t maxUnrolledOps = 600;            // values computed one by one for a short row
  int64_t transposedRows = 64;             // of a block: fills lines of the cache
  int maxKernelOps = 300;                  // code size and register pressure grow faster than
  int maxKernelBuffers = 48;               // what is saved

  // Attention that never stores its scores. Scores that stay in the cache from one kernel to the
  // next cost little to store; products of few columns take their operands as they lie in memory,
  // which packing would cost more than storing such rows.
  int64_t minScoreBytes = 256 << 10;
  int64_t minScoreColumns = 256;
  // Gradients compute scores and weights again, which costs more than fewer bytes of scores cost to
  // store; those of 16 bits cost half as much, and converting them as often as they are read more.
  int64_t minGradientScoreBytes = 8 << 20;
  int64_t minNarrowGradientScoreBytes = 256 << 20;
  int64_t maxScoreRows = 64;  // at a time: they share the second-level cache with the operands

  // Parallel work. How much becomes parallel never depends on how many threads there are, so that
  // results do not either.
  double parallelNs = 25'000;  // from here on, work is handed to other threads
  // A product that takes less runs on one thread.
  double parallelProductNs = 100'000;
  double grainNs = 8'000;  // the least that one thread is handed
  double tileNs = 20'000;  // of a kernel's tile
  int64_t maxTiles = 256;
  int64_t maxScatterTiles = 64;
  int64_t minTileBytes = 256;          // of memory that tiles write side by side: whole cache lines
  int64_t minScatterUpdates = 1024;    // of a tile
  int64_t minParallelBytes = 1 << 20;  // of an array: below, one thread is done before others begin
  int64_t minParallelUpdates = 1 << 16;
  // Results of a reduction that keep all threads busy: rows each, or columns side by side.
  int64_t enoughRows = 64;
  int64_t enoughColumns = 1024;
  // A reduction to fewer results is done in parts first, each of so many elements at least.
  int64_t minParts = 8;
  int64_t maxParts = 64;
  int64_t minPartElements = 512;
  // A scatter of narrow windows goes to several copies first, if each element has many updates.
  int64_t maxScatterCopies = 16;
  int64_t maxScatterWindowBytes = 256;
  int64_t minUpdatesPerElement = 16;

  // Elements of `bytes` that a GPU's thread reads at once; 1 elsewhere.
  unsigned neighboursOf(int64_t bytes) const {
    return bytes * 8 > threadBits ? 1 : threadBits / static_cast<unsigned>(bytes * 8);
  }
  // How many elements of `bits` one instruction computes: 1 where threads are the lanes.
  unsigned lanesOf(unsigned bits) const {
    return device == DeviceKind::kGpu || vectorBits < bits ? 1 : vectorBits / bits;
  }
  // Of all rows that a kernel keeps in memory of its own, beside the row that it reads.
  int64_t maxKeptRowBytes() const { return maxRowBytes / 2; }
};

// A GPU that LLVM compiles for under `triple` ("spirv64-unknown-unknown", "nvptx64-nvidia-cuda"),
// with the limits that every device of the last ten years has. A backend that can ask its device
// sets what it knows better.
TargetModel gpuTarget(std::string triple, std::string cpu = "");

}  // namespace isthmus
