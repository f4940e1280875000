#include "backends/cuda/driver/fake/ptx/uses.h"

#include "backends/cuda/driver/fake/ptx/program.h"

namespace isthmus::ptx {
namespace {

constexpr size_t kWord = 4;

}  // namespace

void Synchronization::meet(std::vector<uint32_t>& last, int warp, uint32_t lanes) {
  ++ofWarps_;
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    auto thread = static_cast<size_t>(warp * kWarpLanes + lane);
    if ((lanes >> lane & 1) && thread < last.size()) last[thread] = ofWarps_;
  }
}

Uses::Uses(size_t bytes, const Synchronization& synchronization, Of of)
    : synchronization_(synchronization),
      of_(of),
      bytesKept_(bytes <= kMost ? bytes : 0),
      words_(zeroed<Users>(bytesKept_ / kWord + 1)),
      bytes_(zeroed<Users>(bytesKept_ + kWord)),
      isSplit_(zeroed<bool>(bytesKept_ / kWord + 1)) {}

bool Uses::areOrdered(const User& earlier, int thread, bool isReadThenWrite) const {
  if (earlier.block != synchronization_.block_) return false;
  if (earlier.thread == thread || earlier.ofBlock < synchronization_.ofBlock_) return true;
  if (earlier.thread / kWarpLanes != thread / kWarpLanes) return false;
  auto haveMet = [&](const std::vector<uint32_t>& last) {
    return last[earlier.thread] > earlier.ofWarps &&
           last[static_cast<size_t>(thread)] > earlier.ofWarps;
  };
  return haveMet(synchronization_.lastOfThread_) ||
         (isReadThenWrite && haveMet(synchronization_.lastShuffle_));
}

bool Uses::agrees(const Users& users, const Use& use, Race& race) const {
  auto isFine = [&](const User& earlier, bool isRead) {
    if (isNobody(earlier)) return true;
    if (use.isReadOnly || earlier.isReadOnly) return false;
    if (use.isAtomic && earlier.isAtomic) return true;
    bool areReadAndAtomic = (isRead && use.isAtomic) || (!use.isWrite && earlier.isAtomic);
    if (of_ == Of::kLaunch && areReadAndAtomic) return true;
    return areOrdered(earlier, use.thread, isRead && use.isWrite);
  };
  if (!isFine(users.writer, false) && !(use.isWrite && use.isSame)) {
    race = {users.writer.block - 1, users.writer.thread, true};
    return false;
  }
  if (!use.isWrite) return true;
  for (const User* reader : {&users.reader, &users.otherReader}) {
    if (isFine(*reader, true)) continue;
    race = {reader->block - 1, reader->thread, false};
    return false;
  }
  return true;
}

void Uses::enter(Users& users, const Use& use) const {
  User user{synchronization_.block_, static_cast<uint16_t>(use.thread), use.isAtomic,
            use.isReadOnly,          synchronization_.ofBlock_,         synchronization_.ofWarps_};
  if (use.isWrite) {
    users.writer = user;
    return;
  }
  bool isSame = users.reader.thread == user.thread && users.reader.block == user.block;
  if (!isSame) users.otherReader = users.reader;
  users.reader = user;
}

bool Uses::enter(size_t offset, size_t bytes, const Use& use, Race& race) {
  if (bytesKept_ == 0) return true;
  if (bytes < kWord) {
    size_t word = offset / kWord;
    if (!agrees(words_[word], use, race)) return false;
    isSplit_[word] = true;
    for (size_t i = offset; i < offset + bytes; ++i) {
      if (!agrees(bytes_[i], use, race)) return false;
      enter(bytes_[i], use);
    }
    return true;
  }
  for (size_t word = offset / kWord; word < (offset + bytes) / kWord; ++word) {
    if (!agrees(words_[word], use, race)) return false;
    for (size_t i = word * kWord; isSplit_[word] && i < (word + 1) * kWord; ++i) {
      if (!agrees(bytes_[i], use, race)) return false;
    }
    enter(words_[word], use);
  }
  return true;
}

}  // namespace isthmus::ptx
