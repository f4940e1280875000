// Random programs with nested loops and branches, run twice: by value, and through the memory that
// the plan gives them, with its moves. Contents of memory are tags, so any lost value shows.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "compiler/plan/memory_plan.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

namespace isthmus {
namespace {

constexpr int kTrips = 3;

// Text of a random program over arrays of one type. Values are %v0, %v1, ….
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::string program(int parameters, int results) {
    std::vector<int> available;
    std::string arguments;
    for (int p = 0; p < parameters; ++p) {
      available.push_back(next_++);
      arguments += (p ? ", " : "") + name(available.back()) + ": " + kType;
    }
    std::string body = block(available, 0);
    std::string returned, types;
    for (int r = 0; r < results; ++r) {
      returned += (r ? ", " : "") + name(pick(available));
      types += std::string(r ? ", " : "") + kType;
    }
    return "func.func @main(" + arguments + ") -> (" + types + ") {\n" + body + "return " +
           returned + " : " + types + "\n}\n";
  }

 private:
  static constexpr const char* kType = "tensor<64xf32>";

  int roll(int sides) { return static_cast<int>(random_() % sides); }
  std::string name(int value) { return "%v" + std::to_string(value); }
  // Recent values more often, so that many die early.
  int pick(const std::vector<int>& available) {
    int count = static_cast<int>(available.size());
    return available[roll(2) ? roll(count) : count - 1 - roll(std::min(count, 3))];
  }
  std::string list(const std::vector<int>& values) {
    std::string text;
    for (int value : values) text += (text.empty() ? "" : ", ") + name(value);
    return text;
  }
  std::string types(size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += std::string(i ? ", " : "") + kType;
    return text;
  }
  std::vector<int> pickMany(const std::vector<int>& available, int count) {
    std::vector<int> values;
    for (int i = 0; i < count; ++i) values.push_back(pick(available));
    return values;
  }

  std::string block(std::vector<int>& available, int depth) {
    std::string text;
    for (int i = 0, count = 2 + roll(5); i < count; ++i) text += operation(available, depth);
    return text;
  }

  std::string operation(std::vector<int>& available, int depth) {
    int kind = roll(depth < 3 ? 10 : 6);
    if (kind >= 8) return loop(available, depth);
    if (kind >= 6) return branch(available, depth);
    static constexpr const char* kNames[] = {"test.op",           "test.inplace",
                                             "test.update",       "test.update",
                                             "stablehlo.reshape", "stablehlo.constant"};
    std::vector<int> operands = pickMany(available, kind == 5 ? 0 : kind == 4 ? 1 : 1 + roll(2));
    int result = next_++;
    std::string text = name(result) + " = \"" + kNames[kind] + "\"(" + list(operands) + ")" +
                       " {number = " + std::to_string(result) + " : i64} : (" +
                       types(operands.size()) + ") -> " + kType + "\n";
    available.push_back(result);
    return text;
  }

  std::string loop(std::vector<int>& available, int depth) {
    int carried = 1 + roll(3);
    std::vector<int> inits = pickMany(available, carried);
    auto region = [&](bool isBody) {
      std::vector<int> inner = available;
      std::vector<int> arguments;
      std::string header;
      for (int i = 0; i < carried; ++i) {
        arguments.push_back(next_++);
        inner.push_back(arguments.back());
        header += (i ? ", " : "") + name(arguments.back()) + ": " + kType;
      }
      std::string text = "^bb0(" + header + "):\n";
      if (!isBody) {
        std::string predicate = name(next_++);
        return text + predicate + " = \"test.op\"(" + name(pick(inner)) + ") : (" + kType +
               ") -> tensor<i1>\n\"stablehlo.return\"(" + predicate + ") : (tensor<i1>) -> ()\n";
      }
      text += block(inner, depth + 1);
      std::vector<int> yielded;
      for (int i = 0; i < carried; ++i) {
        // Now and then a carried value passes through or changes places.
        yielded.push_back(roll(3) ? pick(inner) : arguments[roll(2) ? i : roll(carried)]);
      }
      return text + "\"stablehlo.return\"(" + list(yielded) + ") : (" + types(carried) +
             ") -> ()\n";
    };
    std::string condition = region(false);
    std::string body = region(true);
    return finish("stablehlo.while", list(inits), types(carried), carried, {condition, body},
                  available);
  }

  std::string branch(std::vector<int>& available, int depth) {
    int results = 1 + roll(3);
    std::vector<std::string> regions;
    for (int r = 0; r < 2; ++r) {
      std::vector<int> inner = available;
      std::string text = block(inner, depth + 1);
      text += "\"stablehlo.return\"(" + list(pickMany(inner, results)) + ") : (" + types(results) +
              ") -> ()\n";
      regions.push_back(text);
    }
    return finish("stablehlo.if", name(pick(available)), kType, results, regions, available);
  }

  std::string finish(const char* op, const std::string& operands, const std::string& operandTypes,
                     int results, const std::vector<std::string>& regions,
                     std::vector<int>& available) {
    std::string named, text;
    for (int i = 0; i < results; ++i) {
      available.push_back(next_++);
      named += (i ? ", " : "") + name(available.back());
    }
    text = named + " = \"" + op + "\"(" + operands + ") (";
    for (size_t r = 0; r < regions.size(); ++r) text += (r ? ", {\n" : "{\n") + regions[r] + "}";
    return text + ") : (" + operandTypes + ") -> (" + types(results) + ")\n";
  }

  std::mt19937 random_;
  int next_ = 0;
};

using Tag = uint64_t;

Tag combine(Tag a, Tag b) { return (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 31; }

// Runs a program; subclasses say how values are kept. Both take the same branches.
class Interpreter {
 public:
  virtual ~Interpreter() = default;
  void runBlock(mlir::Block& block) {
    for (mlir::Operation& op : block) run(&op);
  }

 protected:
  virtual Tag read(mlir::Value value) = 0;
  virtual void write(mlir::Value value, Tag tag) = 0;
  virtual void view(mlir::Operation* op) = 0;
  virtual void enter(mlir::Operation* whileOp) = 0;
  virtual void transfer(mlir::Operation* terminator) = 0;
  virtual void leave(mlir::Operation* whileOp) = 0;

 private:
  void run(mlir::Operation* op) {
    switch (roleOf(op)) {
      case OpRole::kWhile:
        enter(op);
        for (int trip = 0;; ++trip) {
          runBlock(op->getRegion(0).front());
          if (trip == kTrips) break;
          runBlock(op->getRegion(1).front());
        }
        leave(op);
        break;
      case OpRole::kBranch:
        runBlock(op->getRegion(branches_++ % 2).front());
        break;
      case OpRole::kTerminator:
        transfer(op);
        break;
      case OpRole::kView:
        view(op);
        break;
      default: {
        Tag tag = 7;
        if (auto number = op->getAttrOfType<mlir::IntegerAttr>("number")) tag = number.getInt();
        for (mlir::Value operand : op->getOperands()) tag = combine(tag, read(operand));
        for (mlir::Value result : op->getResults()) write(result, tag = combine(tag, 1));
      }
    }
  }
  int branches_ = 0;
};

class ByValue final : public Interpreter {
 public:
  std::map<void*, Tag> values;
  std::vector<Tag> results;
  Tag read(mlir::Value value) override { return values.at(value.getAsOpaquePointer()); }
  void write(mlir::Value value, Tag tag) override { values[value.getAsOpaquePointer()] = tag; }

 private:
  void view(mlir::Operation* op) override { write(op->getResult(0), read(op->getOperand(0))); }
  void enter(mlir::Operation* op) override {
    state_ = tags(op);
    bind(op);
  }
  void leave(mlir::Operation* op) override {
    for (unsigned i = 0; i < op->getNumResults(); ++i) {
      write(op->getResult(i), read(op->getRegion(0).front().getArgument(i)));
    }
  }
  void transfer(mlir::Operation* terminator) override {
    mlir::Operation* parent = terminator->getParentOp();
    std::vector<Tag> given = tags(terminator);
    if (roleOf(parent) == OpRole::kWhile) {
      if (terminator->getParentRegion() == &parent->getRegion(0)) return;
      state_ = given;
      bind(parent);
    } else if (roleOf(parent) == OpRole::kBranch) {
      for (unsigned i = 0; i < given.size(); ++i) write(parent->getResult(i), given[i]);
    } else {
      results = given;
    }
  }
  std::vector<Tag> tags(mlir::Operation* op) {
    std::vector<Tag> list;
    for (mlir::Value operand : op->getOperands()) list.push_back(read(operand));
    return list;
  }
  void bind(mlir::Operation* op) {
    for (mlir::Region& region : op->getRegions()) {
      for (unsigned i = 0; i < state_.size(); ++i) write(region.front().getArgument(i), state_[i]);
    }
  }
  std::vector<Tag> state_;
};

class ThroughMemory final : public Interpreter {
 public:
  explicit ThroughMemory(const MemoryPlan& plan) : plan_(plan) {}
  Tag& at(const Location& place) { return memory_[{place.space, place.index, place.offset}]; }
  Tag read(mlir::Value value) override { return at(plan_.locate(value)); }
  void write(mlir::Value value, Tag tag) override { at(plan_.locate(value)) = tag; }

 private:
  void view(mlir::Operation*) override {}
  void enter(mlir::Operation* op) override { carryOut(plan_.movesInto(op)); }
  void leave(mlir::Operation*) override {}
  void transfer(mlir::Operation* terminator) override { carryOut(plan_.movesAt(terminator)); }
  void carryOut(const std::vector<Move>& moves) {
    for (const Move& move : moves) {
      if (move.isSwap) {
        std::swap(at(move.to), at(move.from));
      } else {
        at(move.to) = at(move.from);
      }
    }
    auto isWritten = [&](const Location& place) {
      return std::ranges::any_of(moves,
                                 [&](const Move& move) { return move.to.isSamePlace(place); });
    };
    for (const Move& move : moves) {
      if (move.isLast && !isWritten(move.from)) at(move.from) = kLost;
    }
  }
  static constexpr Tag kLost = ~Tag{0};
  const MemoryPlan& plan_;
  std::map<std::tuple<Location::Space, int, int64_t>, Tag> memory_;
};

TEST(PlanSimulationTest, random_programs_lose_no_value) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect>();
  context.allowUnregisteredDialects();
  constexpr int kParameters = 3;
  constexpr int kResults = 3;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::string text = Generator(seed).program(kParameters, kResults);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    mlir::func::FuncOp main = *module->getOps<mlir::func::FuncOp>().begin();
    PlanOptions options;
    // One parameter is an output, one is given up, one is kept.
    options.parameters = {{static_cast<int>(seed % kResults), true}, {-1, true}, {-1, false}};
    options.canShare = [](mlir::Operation* op, unsigned operand, unsigned) {
      llvm::StringRef name = op->getName().getStringRef();
      return name == "test.inplace" || (name == "test.update" && operand == 0);
    };
    options.prefersInPlace = [](mlir::Operation* op, unsigned operand, unsigned) {
      return op->getName().getStringRef() == "test.update" && operand == 0;
    };
    StatusOr<MemoryPlan> plan = planMemory(main, options);
    ASSERT_TRUE(plan.ok()) << plan.status().message() << text;
    Status verified = verifyPlan(*plan, options);
    ASSERT_TRUE(verified.ok()) << verified.message() << text;

    ByValue expected;
    ThroughMemory actual(*plan);
    mlir::Block& entry = main.getBody().front();
    for (int p = 0; p < kParameters; ++p) {
      expected.write(entry.getArgument(p), 1000 + p);
      actual.at({Location::Space::kParameter, p, 0, 256}) = 1000 + p;
    }
    for (mlir::Operation* op : plan->constants()) {
      // As both interpreters compute a constant when they come to it; memory has it from the start.
      Tag tag = combine(op->getAttrOfType<mlir::IntegerAttr>("number").getInt(), 1);
      actual.write(op->getResult(0), tag);
    }
    expected.runBlock(entry);
    actual.runBlock(entry);
    for (int r = 0; r < kResults; ++r) {
      ASSERT_EQ(actual.at(plan->resultLocation(r)), expected.results[r])
          << "result " << r << " of\n"
          << text << plan->toString();
    }
    EXPECT_EQ(actual.at({Location::Space::kParameter, 2, 0, 256}), 1002u) << text;
  }
}

}  // namespace
}  // namespace isthmus
