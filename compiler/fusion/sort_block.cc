#include "compiler/fusion/sort_block.h"

#include <queue>

#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/fusion/block_graph.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus {
namespace {

// A report of a longer cycle says no more.
constexpr size_t kMaxNamed = 16;

class Sorter {
 public:
  explicit Sorter(mlir::Block& block) : block_(block) {
    for (mlir::Operation& op : block.without_terminator()) {
      position_[&op] = static_cast<int>(ops_.size());
      ops_.push_back(&op);
    }
    predecessors_.resize(ops_.size());
    successors_.resize(ops_.size());
    addEdges();
  }

  Status run() {
    std::vector<int> order = sorted();
    if (order.size() < ops_.size()) return cycleError(order);
    mlir::Block::iterator end =
        block_.mightHaveTerminator() ? mlir::Block::iterator(block_.getTerminator()) : block_.end();
    for (int index : order) ops_[index]->moveBefore(&block_, end);
    return {};
  }

 private:
  void addEdges() {
    int lastOrdered = -1;
    for (int index = 0; index < static_cast<int>(ops_.size()); ++index) {
      ops_[index]->walk([&](mlir::Operation* nested) {
        for (mlir::Value operand : nested->getOperands()) {
          auto producer = position_.find(operand.getDefiningOp());
          if (producer != position_.end()) addEdge(producer->second, index);
        }
      });
      if (!BlockGraph::isOrdered(ops_[index])) continue;
      if (lastOrdered >= 0) addEdge(lastOrdered, index);
      lastOrdered = index;
    }
  }

  void addEdge(int from, int to) {
    if (from == to) return;
    successors_[from].push_back(to);
    predecessors_[to].push_back(from);
  }

  // Kahn's algorithm with the original order as priority: stays close to how the program was
  // written, which is close to what keeps few values alive. What is in a cycle, or behind one, is
  // missing.
  std::vector<int> sorted() const {
    std::vector<size_t> pending;
    std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
    for (size_t i = 0; i < ops_.size(); ++i) {
      pending.push_back(predecessors_[i].size());
      if (pending[i] == 0) ready.push(static_cast<int>(i));
    }
    std::vector<int> order;
    while (!ready.empty()) {
      order.push_back(ready.top());
      ready.pop();
      for (int successor : successors_[order.back()]) {
        if (--pending[successor] == 0) ready.push(successor);
      }
    }
    return order;
  }

  Status cycleError(llvm::ArrayRef<int> order) const {
    std::vector<bool> isSorted(ops_.size());
    for (int index : order) isSorted[index] = true;
    // What is left waits for something that is left, so a walk against the edges meets itself.
    auto waitsFor = [&](int index) {
      return *llvm::find_if(predecessors_[index], [&](int other) { return !isSorted[other]; });
    };
    int index = static_cast<int>(llvm::find(isSorted, false) - isSorted.begin());
    for (size_t i = 0; i < ops_.size(); ++i) index = waitsFor(index);
    std::string cycle = describe(ops_[index]);
    size_t length = 1;
    for (int next = waitsFor(index); next != index; next = waitsFor(next), ++length) {
      if (length < kMaxNamed) cycle += "; it waits for " + describe(ops_[next]);
    }
    if (length > kMaxNamed) cycle += "; and so on";
    return internalError("operations of a block wait for each other, a cycle of ", length, ": ",
                         cycle);
  }

  mlir::Block& block_;
  llvm::SmallVector<mlir::Operation*> ops_;
  llvm::DenseMap<mlir::Operation*, int> position_;
  std::vector<llvm::SmallVector<int, 4>> predecessors_, successors_;
};

}  // namespace

Status sortBlock(mlir::Block& block) { return Sorter(block).run(); }

}  // namespace isthmus
