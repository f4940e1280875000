// What the compiler knows of the device that it compiles for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace isthmus {

enum class DeviceKind {
  kCpu,  // few threads, each with vector registers: a loop's lanes are elements of a vector
  kGpu,  // many threads, each for one element at a time: a loop's lanes are threads
};

// What multiplies matrices.
enum class ProductUnit : uint8_t {
  kFunctions,  // of the backend: no kernels
  kThreads,    // multiply-adds of threads, or of a CPU's vectors
  kSubgroups,  // sub-groups, by one instruction for small matrices (Intel's)
  kWarps,      // sub-groups, by tensor cores (NVIDIA's)
};

// Whose instructions kernels may use that LLVM's portable IR has no words for
// (compiler/codegen/target/target_instructions.h).
enum class Intrinsics : uint8_t { kNone, kX86, kNvptx };

// Of kernels of matrix products and convolutions: sizes at which one form of them becomes faster
// than another, and what registers and memory are good for. Lines are rows or columns of the
// result, terms what is summed for each of its elements.
struct ProductModel {
  ProductUnit unit = ProductUnit::kFunctions;

  // The unit's instruction: c[rows x columns] += a b, for rows of a of so many bytes.
  int64_t instructionRows = 1, instructionColumns = 1, instructionBytes = 4;
  // Of the result and of the sums: below, most of what the instruction computes is not used.
  int64_t minInstructionSize = 16;
  // Results of the instruction that a sub-group computes, where there are many, and where not; and
  // the sub-groups of a group, down the rows and across the columns.
  int64_t largeBlockRows = 4, largeBlockColumns = 2;
  int64_t smallBlockRows = 1, smallBlockColumns = 1;
  int64_t subgroupsDown = 4, subgroupsAcross = 2;
  // So many times the instruction goes along the terms of a tile; tiles that a group's memory holds
  // at once, where copies to it are under way while one is multiplied.
  int64_t tileSteps = 1, tilesAtOnce = 1;
  // Sums of a thread whose other registers hold little.
  int64_t maxInstructionSums = 64;

  // Groups that keep the device busy; if there are as many of large tiles, tiles are large, and
  // each operand is read less often.
  int64_t enoughGroups = 128;
  // Along one side of the result: below, a group's tile is mostly empty.
  int64_t minTileLines = 24;
  // Of a tile, in a group's memory: their copies are whole lines of a cache.
  int64_t tileTerms = 16;
  // Elements that are passed over from line to line there, so that lines begin in other banks and
  // can be read in vectors.
  int64_t tilePadding = 4;
  // Along each side of the result, elements that a thread has in registers: of large tiles, of
  // small ones.
  int64_t largeThreadLines = 8, smallThreadLines = 4;
  int64_t maxThreadSums = 64;

  // Products of few lines, whose terms are shared by a group: so many sums of a thread, each of so
  // many terms at least.
  int64_t maxFewLines = 16;
  int64_t minSharedTerms = 64;
  // Groups that keep the device busy with reading alone, and the terms worth a group of their own.
  int64_t enoughReadingGroups = 512, minGroupTerms = 512;

  // Work-items of a few elements. Columns from which on an item has several; with fewer than
  // `minItemColumns`, neighbouring items have rows. An operand whose columns lie apart is put in
  // order first if so many rows use it.
  int64_t itemRows = 8, itemColumns = 2;
  int64_t minItemColumns = 8, manyColumns = 64;
  int64_t minRowsToOrder = 4;

  // Vectors of a CPU: registers for sums (the others hold a row of columns and an element), and
  // rows from which on reading the columns' operand in panels saves more than copying it costs: of
  // one that lies in rows already, and of one that has to be transposed.
  int64_t sumRegisters = 12;
  int64_t minRowsToPack = 96, minRowsToTranspose = 4;
  // Multiply-adds of f32 are faster than a multiplication and an addition of 32-bit integers.
  bool hasFastFloats = false;
  // Products that a work-item should compute, if there are enough of such items; of a matrix, below
  // which it costs less than an item.
  int64_t itemProducts = 1 << 20, enoughItems = 64, minProducts = 1 << 13;
};

// Plain data. The default is a 64-bit CPU of no special abilities: what command lines and tests get
// that name no device. `hostTarget()` of the CPU backend describes the machine at hand.
struct TargetModel {
  DeviceKind device = DeviceKind::kCpu;

  // As LLVM names them: "x86_64-pc-linux-gnu", "znver3", "+avx2,+fma,…".
  std::string triple;
  std::string cpu;
  std::string features;
  Intrinsics intrinsics = Intrinsics::kNone;

  // What one thread has.
  unsigned vectorBits = 128;  // of a register; 0: elements are computed one by one
  // Of a vector's value, in what is written for the target.
  unsigned maxVectorElements = std::numeric_limits<unsigned>::max();
  bool fma = false;           // a * b + c in one instruction
  bool convertsF16 = false;   // to and from f32 in one instruction
  bool roundsToBf16 = false;  // f32 in one instruction, which on CPUs takes subnormals for zero
  // Vectors of 4- and 8-byte elements are read from computed places faster than one by one.
  bool gathers = false;
  // Of x86, for `compiler/codegen/target/x86`: AVX-512's F, BW, DQ and VL together; VBMI.
  bool avx512 = false;
  bool avx512Vbmi = false;
  bool masksAsIntegers = true;  // the lanes of a comparison can be read as the bits of an integer
  // The largest distance of lanes, in elements, at which vectors are read or written whole and
  // taken apart or interleaved in registers: shuffling must cost less than single accesses.
  int64_t maxInterleave = 4;
  int64_t l2Bytes = 1 << 20;
  // Instructions that are in flight at a time, where a vector may be longer than a register; 0: it
  // may not.
  double instructionsInFlight = 0;

  // What a work-group of threads has (GPUs).
  unsigned subgroupSize = 1;  // threads that run in step
  unsigned groupSize = 1;     // threads of one group, a power of two
  // A group's threads share memory and wait for each other; else each computes by itself. Those of
  // a sub-group read each other's registers.
  bool sharesGroupMemory = false;
  bool shufflesInSubgroup = false;
  int64_t localBytes = 0;    // memory that a group's threads share
  unsigned atomicBits = 32;  // of the longest integers that threads exchange in memory
  // What one instruction adds to memory: each with those before it.
  enum class AtomicFloats { kNone, kF32AndF64, kF16, kBf16 };
  AtomicFloats atomicFloats = AtomicFloats::kNone;
  unsigned atomicVectorBits = 0;  // of f32s side by side that one instruction adds; 0: of one only
  unsigned threadBits = 0;      // of neighbours that a thread reads and writes at once; 0: of none
  int64_t loadsAtOnce = 8;      // of a thread, that are under way
  int64_t transposedSide = 32;  // of a square that a group transposes in its memory
  int64_t bufferBytes = 1;      // the address of every buffer is a multiple of so many

  // Speeds of one thread (a CPU) or of the whole device (a GPU).
  double memoryBytesPerNs = 10;
  double cacheBytesPerNs = 40;           // of what stays in the near cache
  int64_t cacheResidentBytes = 1 << 20;  // traffic up to which that speed holds
  double elementOpsPerNs = 16;           // additions of 4-byte elements
  double scalarOpsPerNs = 1;             // updates at computed places, one by one
  // Of a product whose operands stay in registers: its multiplications and additions keep all units
  // busy.
  double productFlopsPerElementOp = 3;
  // Of a product's operands: what caches bring where little is done with an element.
  double productBytesPerNs = 16;
  double kernelNs = 18.75;  // of one more kernel, beside what it does
  ProductModel products;

  // Functions of a library, on one thread.
  double callNs = 50;                  // of a call, beside what it does
  double decompositionFlopsPerNs = 2;  // each step waits for the one before
  double transformFlopsPerNs = 4;      // vectors are short
  double handlerNs = 1'000;            // of a call of somebody else's function
  double meetingNs = 5'000;            // of devices that wait for each other
  double exchangeBytesPerNs = 4;       // between them

  // What is computed again, read again or chosen among, where the alternative is another kernel.
  int64_t minRecomputedBytes = 64 << 10;  // of a value: a smaller one is read from a near cache
  int64_t minSharedElements = 1024;       // of what kernels read, to become one for its sake
  double maxSelections = 1 << 16;         // among arrays that are joined
  // Whether a function copies each array where selections are too many; else kernels select.
  bool joinsByCopies = true;

  // Limits on what one kernel works on.
  int64_t maxRowBytes = 256 << 10;         // of a row that is read several times: stays in cache
  int64_t wholeRowBytes = 256 << 10;       // longer rows are split in parts where there are few
  int64_t maxSingleRowElements = 1 << 16;  // of such a row where there is only one
  int64_t minTransposeElements = 4096;     // below, a strided read costs less than a kernel
  int64_t accumulatorElements = 1024;      // of running sums side by side
  int64_t minAccumulatedRows = 16;         // for running sums to be worth their way through memory
  int64_t accumulatedRows = 4;             // added to a running sum while it is in a register
  int64_t maxRowPieces = 8;                // long stretches of rows are read faster than short ones
  unsigned reductionChains = 4;            // of a row: enough to hide the latency of an addition
  unsigned transposedBlockRows = 16;       // of a block that is transposed in registers
  // Additions for each element of a row, in which the latency of one that sums them is hidden: then
  // chains are not worth their code.
  double hidingAdditions = 10;
  double keptAdditions = 10;        // of an element, to be kept rather than computed again
  double tailAdditions = 20;        // of an element, for code of its own at the ends of rows
  int64_t maxBlockRowVectors = 16;  // of rows whose reductions are folded together
  int64_t maxUnrolledOps = 600;     // values computed one by one for a short row
  // Elements of a window that are computed one by one: indices fold to constants, and neighbours
  // share their loads.
  int64_t maxUnrolledWindow = 12;
  int64_t shortRowElements = 7;   // of rows that are better left to a lane each
  int64_t transposedRows = 64;    // of a block: fills lines of the cache
  int64_t cacheSetsBytes = 4096;  // apart, bytes are in the same set of the first-level cache
  int64_t cacheWays = 8;          // lines of such a set, at least
  int maxKernelOps = 300;         // code size and register pressure grow faster than
  int maxKernelBuffers = 48;      // what is saved
  double maxKernelAdditions = 0;  // that an element costs; 0: any number
  // Arrays that a kernel may have at all, where each is a parameter that the device has to have
  // room for; 0: any number.
  int64_t maxParameters = 0;
  // Arrays that one kernel joins: a thread tells by one comparison for each array which one its
  // element is from, so that two levels of few take less than one of many; 0: any number.
  int64_t maxConcatenated = 0;

  // Contractions that become sums in loop kernels, where a library's call or tiles would cost more.
  int64_t maxComplexProducts = 512;  // of complex numbers
  int64_t maxLoopProducts = 64;      // in loops, where the call would be made again and again
  int64_t maxTerms = 4;              // of a result
  int64_t maxVectorTerms = 16;       // of matrices times vectors
  int64_t maxPairTerms = 8192;       // of pairs of vectors: each row is read once in any case
  int64_t maxPackedTerms = 16;       // of one of many small matrices of integers or narrow floats
  int64_t minSums = 64;              // results, of few terms each
  // Convolutions with features in front of positions: products below which moving the operands
  // costs more than it saves, and channels that fill no vector.
  double minMovedProducts = 1 << 16;
  int64_t minChannels = 4;

  // Attention that never stores its scores: of how many it is worth a kernel of its own form.
  int64_t minScoreBytes = 0;
  int64_t minScoreColumns = 0;
  // Its products are shared among threads by rows, the stored ones' by columns too: of fewer tasks
  // of a few rows each, long products are left to those.
  int64_t minScoreTasks = 8;
  int64_t scoreTaskRows = 8;
  int64_t scorePartRows = 64;  // the same where the products sum over rows
  // A block of scores has one such part of the second-level cache, and so many rows at least: more
  // where products sum over rows, which go through memory for each block.
  int64_t scoreCacheShare = 8;
  int64_t minBlockScoreRows = 8, minSummedScoreRows = 32;
  // Gradients compute scores and weights again, which costs more than fewer bytes of scores cost to
  // store; those of 16 bits cost half as much, and converting them as often as they are read more.
  // Products of so few rows cost more from memory than all that.
  int64_t fewScoreRows = 16;
  int64_t minGradientScoreBytes = 8 << 20;
  int64_t minNarrowGradientScoreBytes = 256 << 20;
  // Copies of operands, and sums over rows, that each task of a gradient has.
  int64_t maxScoreOperandBytes = 16 << 20;
  int64_t maxScoreRows = 64;  // at a time: they share the second-level cache with the operands

  // Steps that become one kernel of one thread, where a host enqueues commands to the device. Of a
  // loop's round, loops inside counted once: about what a host needs for a short one, and for each
  // command of a long one.
  double fusedStepsNs = 30'000;
  double commandNs = 10'000;
  // Of a launch outside of loops, and of all that one kernel joins: a launch takes a host 3 to 10
  // us beside what it launches, and what several threads would take is a part of what one takes.
  double enqueueNs = 20'000;
  double joinedStepsNs = 120'000;
  // Of what a loop's round computes, on one thread: less is the host's as well, in a loop of which
  // the host has a part in any case, or has none. Drivers take 20 to 40 us from the end of a
  // command to the beginning of the next one.
  double hostRoundNs = 100'000;
  double launchedRoundNs = 200'000;
  // Bounds on the code of one such kernel, and on its parameters where the device has none.
  int64_t maxJoinedStages = 64;
  int64_t maxJoinedInstructions = 8'000;  // outside of loops
  int64_t maxJoinedParameters = 120;
  // A GPU's thread is slow, and estimates are of all of them: so much of it.
  int64_t maxFusedTiles = 64;
  int64_t maxFusedMoveBytes = 4096;

  // Collectives. Operands and results of one that is under way while others run: larger ones cost
  // more to move than to wait for, and memory.
  int64_t maxOverlappedBytes = 16 << 20;
  // Of reductions that are joined: larger ones cost more to move than to meet for, and memory until
  // all are there.
  int64_t maxJoinedReductionBytes = 4 << 20;
  // Other collectives are joined by copying what they send, and what they give, once more: of one
  // that is joined, of all that become one, and of all that wait to, since what they give is alive
  // together.
  int64_t maxPackedPartBytes = 64 << 10;
  int64_t maxPackedBytes = 256 << 10;
  int64_t maxWaitingBytes = 1 << 20;
  // What one more step of a change of shardings costs, in bytes that could move in its time.
  double reshardStepBytes = 512;

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
  // Of rows that are such parts: folding a vector of sums is little beside them.
  int64_t minPartRowElements = 128;
  int64_t maxPartials = 1 << 17;  // results of the first step: more would be much to write and read
  // A scatter of narrow windows goes to several copies first, if each element has many updates.
  int64_t maxScatterCopies = 16;
  int64_t maxScatterWindowBytes = 1024;
  int64_t minUpdatesPerElement = 16;

  // Elements of `bytes` that a GPU's thread reads at once; 1 elsewhere.
  unsigned neighboursOf(int64_t bytes) const {
    return bytes * 8 > threadBits ? 1 : threadBits / static_cast<unsigned>(bytes * 8);
  }
  // How many elements of `bits` one instruction computes: 1 where threads are the lanes.
  unsigned lanesOf(unsigned bits) const {
    return device == DeviceKind::kGpu || vectorBits < bits ? 1 : vectorBits / bits;
  }
  // The same, of values in what is written for the target.
  unsigned vectorLanes(unsigned bits) const { return std::min(lanesOf(bits), maxVectorElements); }
  // Whether the threads of a GPU's group share anything.
  bool hasGroups() const { return device == DeviceKind::kGpu && sharesGroupMemory; }
  // Whether one kernel goes over a row several times (softmax, layer norm): work-items without
  // groups cannot share what is between.
  bool readsRowsAgain() const { return device == DeviceKind::kCpu || hasGroups(); }
  // Whether loops transpose by blocks in registers, together with other work.
  bool transposesInLoops() const { return device == DeviceKind::kCpu; }
  // The largest k, and the widest elements in bits, of a top_k that is not a sort which is cut off:
  // a group of threads selects, each thread one at most; elsewhere the host has a function.
  int64_t largestTopK() const { return hasGroups() ? int64_t{groupSize} : INT64_MAX; }
  int64_t widestTopK() const { return hasGroups() ? 32 : 64; }
  // Of all rows that a kernel keeps in memory of its own, beside the row that it reads. Threads of
  // a group compute again what a row of theirs is.
  int64_t maxKeptRowBytes() const { return device == DeviceKind::kGpu ? 0 : maxRowBytes / 2; }
};

// A GPU that LLVM compiles for under `triple` ("spirv64-unknown-unknown", "nvptx64-nvidia-cuda"),
// with the limits that every device of the last ten years has. A backend that can ask its device
// sets what it knows better.
TargetModel gpuTarget(std::string triple, std::string cpu = "");

// How many elements a vector's value may have in what LLVM writes for `triple`.
unsigned maxVectorElementsOf(std::string_view triple);

// Says that the target's kernels have no more than so many parameters.
void limitParameters(TargetModel& target, int64_t most);

// What every device of OpenCL has room for: 1024 bytes of pointers.
inline constexpr int64_t kFewestParameters = 128;

}  // namespace isthmus
