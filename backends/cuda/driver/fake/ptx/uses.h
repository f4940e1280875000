// Who of a launch used which bytes since when: two threads that use the same bytes, one of them to
// write, must have a barrier between them, which threads of different blocks never have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace isthmus::ptx {

// When the threads of the running block were last synchronized.
class Synchronization {
 public:
  explicit Synchronization(int threads)
      : lastOfThread_(static_cast<size_t>(threads)), lastShuffle_(static_cast<size_t>(threads)) {}

  // Another block begins; the first has number 1.
  void beginBlock() {
    ++block_;
    ++ofBlock_;
  }
  void ofAll() { ++ofBlock_; }
  void ofLanes(int warp, uint32_t lanes) { meet(lastOfThread_, warp, lanes); }
  // They only shuffled values, which orders no memory, but that GPUs read in the order of a warp's
  // instructions: what was read before is what was there before later writes.
  void shuffle(int warp, uint32_t lanes) { meet(lastShuffle_, warp, lanes); }

 private:
  friend class Uses;
  uint32_t block_ = 0, ofBlock_ = 0, ofWarps_ = 0;
  void meet(std::vector<uint32_t>& last, int warp, uint32_t lanes);
  std::vector<uint32_t> lastOfThread_, lastShuffle_;  // of its warp
};

struct Use {
  int thread = 0;  // of the block
  bool isWrite = false;
  bool isAtomic = false;
  bool isSame = false;      // a write of what is there already: no race with other writes
  bool isReadOnly = false;  // ld.nc: nobody may write, at any time of the launch
};

// The other side of a race.
struct Race {
  uint32_t block = 0;  // from 0
  int thread = 0;
  bool hasWritten = false;
};

class Uses {
 public:
  // Of the running block's own memory, or of all blocks': there, plain reads may meet atomics, as
  // those do that a loop of cas begins with.
  // Of more than kMost bytes nothing is kept, which would be many times as much.
  enum class Of { kBlock, kLaunch };
  static constexpr size_t kMost = 8 << 20;
  Uses(size_t bytes, const Synchronization& synchronization, Of of);

  // Enters it. False if it is in no order with an earlier one. Bytes fewer than 4 are within a
  // word, others whole words.
  bool enter(size_t offset, size_t bytes, const Use& use, Race& race);

 private:
  struct User {
    uint32_t block;  // 0: nobody
    uint16_t thread;
    bool isAtomic, isReadOnly;
    uint32_t ofBlock, ofWarps;  // the barriers until then
  };
  struct Users {
    User writer, reader, otherReader;
  };
  bool isNobody(const User& user) const {
    return user.block == 0 || (of_ == Of::kBlock && user.block != synchronization_.block_);
  }
  bool areOrdered(const User& earlier, int thread, bool isReadThenWrite) const;
  bool agrees(const Users& users, const Use& use, Race& race) const;
  void enter(Users& users, const Use& use) const;

  template <typename T>
  struct Freed {
    void operator()(T* data) const { std::free(data); }
  };
  template <typename T>
  using Zeroed = std::unique_ptr<T[], Freed<T>>;
  template <typename T>
  static Zeroed<T> zeroed(size_t count) {
    // Pages that nobody touches take no memory.
    return Zeroed<T>(static_cast<T*>(std::calloc(count, sizeof(T))));
  }

  const Synchronization& synchronization_;
  Of of_;
  size_t bytesKept_;  // 0: none
  Zeroed<Users> words_, bytes_;
  Zeroed<bool> isSplit_;  // words of which less was used
};

}  // namespace isthmus::ptx
