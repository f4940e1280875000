#include "compiler/codegen/access/shuffle_network.h"

#include <map>
#include <utility>

namespace isthmus::codegen {
namespace {

// A vector in the making: what each lane holds, and for which results.
struct Part {
  size_t vector;
  llvm::SmallVector<int64_t, 16> elements;  // negative: nothing that anybody wants
  llvm::SmallVector<size_t, 16> results;
};
using Parts = llvm::SmallVector<Part, 16>;

class Merger {
 public:
  Merger(size_t sources, size_t lanes, llvm::ArrayRef<llvm::SmallVector<int64_t, 16>> wanted)
      : lanes_(lanes), wanted_(wanted), vectors_(sources) {}

  ShuffleNetwork run() {
    const size_t sources = vectors_;
    network_.results.resize(wanted_.size());
    Parts parts = gather(0, sources);
    for (size_t r = 0; r < wanted_.size(); ++r) {
      llvm::SmallVector<Part*, 2> from;
      for (Part& part : parts) {
        if (llvm::is_contained(part.results, r)) from.push_back(&part);
      }
      // The order of lanes is free until the last shuffle, which is therefore left to this place.
      network_.results[r] = join(*from.front(), *from.back(), wanted_[r]);
    }
    return std::move(network_);
  }

 private:
  bool isWithin(int64_t element, size_t begin, size_t end) const {
    return element >= static_cast<int64_t>(begin * lanes_) &&
           element < static_cast<int64_t>(end * lanes_);
  }

  // The vectors that hold what is wanted of sources [begin, end). Of all of them: both halves' as
  // they are, so that each result is one shuffle of a vector from either.
  Parts gather(size_t begin, size_t end) {
    if (end - begin == 1) {
      Part part{begin, {}, {}};
      for (size_t lane = 0; lane < lanes_; ++lane) part.elements.push_back(begin * lanes_ + lane);
      for (size_t r = 0; r < wanted_.size(); ++r) part.results.push_back(r);
      return {part};
    }
    const size_t middle = begin + llvm::bit_ceil(end - begin) / 2;
    Parts first = gather(begin, middle), second = gather(middle, end);
    const bool isRoot = begin == 0 && end == sourcesAtStart_;
    if (isRoot) {
      first.append(second);
      return first;
    }
    Parts merged;
    for (const Part& a : first) {
      for (const Part& b : second) merge(a, b, begin, end, merged);
    }
    return merged;
  }

  // Makes vectors of what the results that both parts serve want of them.
  void merge(const Part& a, const Part& b, size_t begin, size_t end, Parts& merged) {
    llvm::SmallVector<size_t, 16> common;
    llvm::SmallVector<llvm::SmallVector<int64_t, 16>, 16> elements;
    size_t total = 0;
    for (size_t r : a.results) {
      if (!llvm::is_contained(b.results, r)) continue;
      common.push_back(r);
      auto& wanted = elements.emplace_back();
      for (int64_t element : wanted_[r]) {
        if (isWithin(element, begin, end) && !llvm::is_contained(wanted, element)) {
          wanted.push_back(element);
        }
      }
      total += wanted.size();
    }
    if (common.empty()) return;
    // Dealt out in turn: neighbours want one element more or less in turn.
    for (size_t bins = std::max<size_t>(1, (total + lanes_ - 1) / lanes_);; ++bins) {
      llvm::SmallVector<llvm::SmallVector<int64_t, 16>, 16> filled(bins);
      for (size_t i = 0; i < common.size(); ++i) filled[i % bins].append(elements[i]);
      if (llvm::any_of(filled, [&](const auto& bin) { return bin.size() > lanes_; })) continue;
      for (size_t bin = 0; bin < bins && bin < common.size(); ++bin) {
        Part part{0, filled[bin], {}};
        for (size_t i = bin; i < common.size(); i += bins) part.results.push_back(common[i]);
        part.elements.resize(lanes_, -1);
        part.vector = join(a, b, part.elements);
        merged.push_back(std::move(part));
      }
      return;
    }
  }

  size_t join(const Part& a, const Part& b, llvm::ArrayRef<int64_t> elements) {
    Shuffle shuffle{a.vector, b.vector, {}};
    for (int64_t element : elements) shuffle.mask.push_back(laneOf(element, a, b));
    network_.shuffles.push_back(std::move(shuffle));
    return vectors_++;
  }

  int laneOf(int64_t element, const Part& a, const Part& b) const {
    if (element < 0) return -1;
    for (const auto& [part, base] : {std::pair{&a, size_t{0}}, std::pair{&b, lanes_}}) {
      const auto* it = llvm::find(part->elements, element);
      if (it != part->elements.end()) return static_cast<int>(base + (it - part->elements.begin()));
    }
    return -1;
  }

  size_t lanes_;
  llvm::ArrayRef<llvm::SmallVector<int64_t, 16>> wanted_;
  size_t vectors_;
  const size_t sourcesAtStart_ = vectors_;
  ShuffleNetwork network_;
};

}  // namespace

ShuffleNetwork mergeLanes(size_t sources, size_t lanes,
                          llvm::ArrayRef<llvm::SmallVector<int64_t, 16>> wanted) {
  return Merger(sources, lanes, wanted).run();
}

}  // namespace isthmus::codegen
