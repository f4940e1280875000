// A grammar that knows the types of the values it made, so that many modules are valid, and that
// likes sizes and graphs which are small as text and large as what they mean.
#include "fuzz/inputs/program_text.h"

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace isthmus::fuzz {
namespace {

constexpr size_t kMaxText = 300'000;
constexpr int kMaxNesting = 300;

constexpr const char* kElements[] = {
    "f32",      "f64",          "f16", "bf16",
    "i1",       "i8",           "i32", "i64",
    "ui8",      "ui32",         "i4",  "f8E5M2",
    "f8E4M3FN", "complex<f32>", "i2",  "!quant.uniform<i8:f32, 0.5>",
    "f4E2M1FN", "i128",         "tf32"};
constexpr const char* kExtents[] = {"0",
                                    "1",
                                    "2",
                                    "3",
                                    "4",
                                    "7",
                                    "16",
                                    "?",
                                    "100",
                                    "4096",
                                    "2147483648",
                                    "4294967296",
                                    "9223372036854775807"};
constexpr const char* kNumbers[] = {"0",
                                    "1",
                                    "2",
                                    "3",
                                    "-1",
                                    "4",
                                    "7",
                                    "100",
                                    "65536",
                                    "2147483647",
                                    "4294967296",
                                    "4611686018427387904",
                                    "9223372036854775807",
                                    "-9223372036854775808"};
constexpr const char* kUnary[] = {"abs",
                                  "negate",
                                  "sine",
                                  "exponential",
                                  "log",
                                  "sqrt",
                                  "tanh",
                                  "not",
                                  "sign",
                                  "floor",
                                  "is_finite",
                                  "real",
                                  "imag",
                                  "cbrt",
                                  "popcnt",
                                  "optimization_barrier",
                                  "round_nearest_even"};
constexpr const char* kBinary[] = {"add",
                                   "subtract",
                                   "multiply",
                                   "divide",
                                   "maximum",
                                   "minimum",
                                   "power",
                                   "remainder",
                                   "and",
                                   "or",
                                   "xor",
                                   "shift_left",
                                   "shift_right_logical",
                                   "atan2",
                                   "complex"};
constexpr const char* kCollectives[] = {"all_gather",           "all_to_all", "collective_permute",
                                        "collective_broadcast", "all_reduce", "reduce_scatter"};

struct Value {
  std::string name;
  std::string type;
};

class Grammar {
 public:
  Grammar(const uint8_t* data, size_t size) : in_(data, size) {}

  std::string module() {
    aliases();
    const bool isWrapped = in_.ConsumeBool();
    if (isWrapped) {
      text_ += "module @m attributes {mhlo.num_partitions = " + number() +
               " : i32, mhlo.num_replicas = " + small(3) + " : i32" +
               (chance(4) ? ", x = " + attribute(2) : "") + "} {\n";
    }
    const int functions = in_.ConsumeIntegralInRange(0, 4);
    for (int i = 0; i < functions && fits(); ++i) function("f" + std::to_string(i), i);
    function("main", functions);
    if (isWrapped) text_ += "}\n";
    return std::move(text_);
  }

 private:
  bool fits() const { return text_.size() < kMaxText; }
  bool chance(int oneIn) { return in_.ConsumeIntegralInRange(1, oneIn) == 1; }
  std::string small(int most) { return std::to_string(in_.ConsumeIntegralInRange(0, most)); }
  template <size_t N>
  const char* pick(const char* const (&list)[N]) {
    return in_.PickValueInArray(list);
  }
  // Mostly small; sometimes at an edge.
  std::string number() { return chance(3) ? pick(kNumbers) : small(4); }
  std::string list(int most) {
    std::string out;
    for (int n = in_.ConsumeIntegralInRange(0, most); n > 0; --n) {
      out += (out.empty() ? "" : ", ") + number();
    }
    return out;
  }
  // How often a chain goes on: mostly a few times, sometimes thousands.
  int chainLength() {
    constexpr int kLengths[] = {1, 2, 3, 8, 40, 60, 200, 1100, 3000};
    return in_.PickValueInArray(kLengths);
  }

  // ---- Types and attributes

  std::string tensor() {
    if (!tensors_.empty() && !chance(3)) return tensors_[index(tensors_)];
    std::string out = "tensor<";
    std::string bounds;
    for (int rank = in_.ConsumeIntegralInRange(0, 4); rank > 0; --rank) {
      const std::string extent =
          kExtents[in_.ConsumeIntegralInRange<size_t>(0, chance(4) ? std::size(kExtents) - 1 : 6)];
      bounds += (bounds.empty() ? "" : ", ") + (extent == "?" && chance(2) ? small(9) : "?");
      out += extent + "x";
    }
    out += chance(3) ? pick(kElements) : kElements[in_.ConsumeIntegralInRange(0, 1) * 6];
    if (chance(8)) {
      out += chance(2) ? ", #stablehlo.bounds<" + bounds + ">" : ", " + attribute(1);
    }
    out += ">";
    tensors_.push_back(out);
    return out;
  }

  std::string type(int depth) {
    if (!typeAliases_.empty() && chance(3)) return typeAliases_[index(typeAliases_)];
    switch (depth <= 0 ? 0 : in_.ConsumeIntegralInRange(0, 6)) {
      case 4: {
        std::string out;
        for (int n = in_.ConsumeIntegralInRange(0, 3); n > 0; --n) {
          out += (out.empty() ? "" : ", ") + type(depth - 1);
        }
        return "tuple<" + out + ">";
      }
      case 5:
        return "!stablehlo.token";
      case 6:
        return "(" + type(depth - 1) + ") -> " + type(depth - 1);
      default:
        return tensor();
    }
  }

  std::string dense() {
    const std::string value = chance(2)   ? number()
                              : chance(2) ? "[" + list(4) + "]"
                                          : "[[" + list(3) + "]]";
    const char* element = chance(2) ? "i64" : pick(kElements);
    std::string shape;
    for (int rank = in_.ConsumeIntegralInRange(0, 3); rank > 0; --rank) {
      shape += std::string(pick(kExtents)) + "x";
    }
    return "dense<" + (chance(16) ? "\"0x00FF\"" : value) + "> : tensor<" + shape + element + ">";
  }

  std::string attribute(int depth) {
    if (!attributeAliases_.empty() && chance(3)) return attributeAliases_[index(attributeAliases_)];
    switch (in_.ConsumeIntegralInRange(0, depth <= 0 ? 4 : 10)) {
      case 0:
        return number() + " : i64";
      case 1:
        return "\"text\"";
      case 2:
        return dense();
      case 3:
        return "array<i64: " + number() + ", " + number() + ">";
      case 4:
        return "@f" + small(3);
      case 5: {
        std::string out;
        for (int n = in_.ConsumeIntegralInRange(0, 4); n > 0; --n) {
          out += (out.empty() ? "" : ", ") + attribute(depth - 1);
        }
        return "[" + out + "]";
      }
      case 6:
        return "{a = " + attribute(depth - 1) + ", b = " + attribute(depth - 1) + "}";
      case 7:
        return type(depth - 1);
      case 8:
        return affineMap();
      case 9:
        return location(depth - 1);
      default:
        return "#stablehlo.channel_handle<handle = " + number() + ", type = " + number() + ">";
    }
  }

  std::string affineMap() {
    std::string out = "affine_map<(d0, d1) -> (d0";
    const char* kOperators[] = {" + d1", " * 2", " floordiv 3", " mod 7", " - d0", " ceildiv 2"};
    for (int n = std::min(chainLength(), 1100); n > 0; --n) out += pick(kOperators);
    return out + ")>";
  }

  std::string location(int depth) {
    if (!locations_.empty() && !chance(3)) return "loc(" + locations_[index(locations_)] + ")";
    return "loc(" + locationBody(depth) + ")";
  }
  std::string locationBody(int depth) {
    if (!locations_.empty() && chance(2)) return locations_[index(locations_)];
    switch (depth <= 0 ? 0 : in_.ConsumeIntegralInRange(0, 4)) {
      case 1:
        return "callsite(" + locationBody(depth - 1) + " at " + locationBody(depth - 1) + ")";
      case 2:
        return "fused[" + locationBody(depth - 1) + ", " + locationBody(depth - 1) + "]";
      case 3:
        return "\"n\"(" + locationBody(depth - 1) + ")";
      case 4:
        return "fused<" + attribute(depth - 1) + ">[" + locationBody(depth - 1) + "]";
      default:
        return chance(2) ? "unknown" : "\"file\":" + small(9) + ":" + small(9);
    }
  }

  template <typename List>
  size_t index(const List& list) {
    return in_.ConsumeIntegralInRange<size_t>(0, list.size() - 1);
  }

  // ---- Aliases, each of which may use those before it several times

  void aliases() {
    for (int n = in_.ConsumeIntegralInRange(0, 6); n > 0 && fits(); --n) {
      switch (in_.ConsumeIntegralInRange(0, 5)) {
        case 0:
          define("!", typeAliases_, type(3));
          break;
        case 1:
          define("#", attributeAliases_, attribute(3));
          break;
        case 2:
          define("#", locations_, location(3));
          break;
        default:
          chain();
      }
    }
  }

  void define(const char* sigil, std::vector<std::string>& names, const std::string& body) {
    const std::string name = sigil + std::string("a") + std::to_string(aliasCount_++);
    text_ += name + " = " + body + "\n";
    names.push_back(name);
  }

  // A chain, or a graph in which every alias names the last one several times.
  void chain() {
    const int kind = in_.ConsumeIntegralInRange(0, 6), fan = in_.ConsumeIntegralInRange(1, 3);
    const int brackets = in_.ConsumeIntegralInRange(0, 3);
    for (int n = chainLength(); n > 0 && fits(); --n) {
      auto last = [&](std::vector<std::string>& names, const std::string& otherwise) {
        const std::string one = names.empty() ? otherwise : names.back();
        std::string out = one;
        for (int i = 1; i < fan; ++i) out += ", " + one;
        return out;
      };
      const std::string open(brackets, '['), close(brackets, ']');
      switch (kind) {
        case 0:
          define("!", typeAliases_, "tuple<" + last(typeAliases_, "tensor<f32>") + ">");
          break;
        case 1:
          define("!", typeAliases_, "(" + last(typeAliases_, "i32") + ") -> ()");
          break;
        case 2:
          define("#", attributeAliases_, open + "[" + last(attributeAliases_, "1") + "]" + close);
          break;
        case 3:
          define("#", attributeAliases_, "{x = [" + last(attributeAliases_, "unit") + "]}");
          break;
        case 4:
          define("#", locations_, "loc(fused[" + last(locations_, "unknown") + "])");
          break;
        case 5: {
          const std::string one = locations_.empty() ? "unknown" : locations_.back();
          define("#", locations_, "loc(callsite(" + one + " at " + one + "))");
          break;
        }
        default:
          define("!", typeAliases_,
                 "tensor<2xf32, " + (attributeAliases_.empty() ? "1" : attributeAliases_.back()) +
                     ">");
          define("#", attributeAliases_, "[" + typeAliases_.back() + "]");
      }
    }
  }

  // ---- Functions

  void function(const std::string& name, int callable) {
    values_.clear();
    callable_ = callable;
    text_ += "func.func " + std::string(name == "main" || chance(8) ? "" : "private ") + "@" +
             name + "(";
    for (int i = 0, n = in_.ConsumeIntegralInRange(0, 3); i < n; ++i) {
      const Value value{"%p" + std::to_string(i), chance(10) ? type(2) : tensor()};
      text_ += (i ? ", " : "") + value.name + ": " + value.type;
      if (chance(6)) text_ += " {tf.aliasing_output = " + number() + " : i32}";
      if (chance(6)) text_ += " {mhlo.sharding = \"" + sharding() + "\"}";
      if (chance(12)) text_ += " {x = " + attribute(2) + "}";
      values_.push_back(value);
    }
    const size_t header = text_.size();
    std::string before = std::move(text_);
    text_.clear();
    operations(in_.ConsumeIntegralInRange(0, 12), 0);
    const bool hasResult = !values_.empty();
    const Value result = hasResult ? values_.back() : Value{};
    text_ = before.substr(0, header) + ") -> (" + result.type + ") {\n" + text_ + "return " +
            (hasResult ? result.name + " : " + result.type : "") + tail() + "}\n";
  }

  std::string sharding() {
    switch (in_.ConsumeIntegralInRange(0, 3)) {
      case 0:
        return "{replicated}";
      case 1:
        return "{maximal device=" + number() + "}";
      case 2:
        return "{devices=[" + number() + "," + number() + "]<=[" + number() + "]}";
      default:
        return "{{devices=[" + small(4) + "]0,1}, {manual}}";
    }
  }

  std::string tail() { return (chance(6) ? " " + location(3) : "") + "\n"; }

  void operations(int count, int depth) {
    for (; count > 0 && fits(); --count) operation(depth);
  }

  Value define(const std::string& type) {
    values_.push_back({"%v" + std::to_string(valueCount_++), type});
    return values_.back();
  }
  Value use() {
    if (values_.empty()) constant();
    return values_[chance(3) ? index(values_) : values_.size() - 1];
  }
  void constant() {
    const std::string type = tensor();
    const std::string value = chance(6) ? "[" + list(4) + "]" : number() + (chance(2) ? ".0" : "");
    const Value result = define(type);
    text_ += result.name + " = stablehlo.constant dense<" + value + "> : " + type + tail();
  }

  // One in the generic form: operands, attributes, and the type of the result.
  void generic(const std::string& name, const std::vector<Value>& operands,
               const std::string& attributes, const std::string& result,
               const std::string& regions = "") {
    std::string names, types;
    for (const Value& operand : operands) {
      names += (names.empty() ? "" : ", ") + operand.name;
      types += (types.empty() ? "" : ", ") + operand.type;
    }
    const Value out = define(result);
    text_ += out.name + " = \"stablehlo." + name + "\"(" + names + ") " +
             (chance(2) ? "<{" + attributes + "}> " : "") + regions + "{" +
             (chance(2) ? attributes : "") + "} : (" + types + ") -> " + result + tail();
  }

  std::string combiner(const std::string& scalar) {
    const std::string a = "%r" + std::to_string(valueCount_++),
                      b = "%r" + std::to_string(valueCount_++);
    const std::string c = "%r" + std::to_string(valueCount_++);
    return "({\n^bb0(" + a + ": " + scalar + ", " + b + ": " + scalar + "):\n" + c +
           " = stablehlo." + pick(kBinary) + " " + a + ", " + b + " : " + scalar +
           "\nstablehlo.return " + c + " : " + scalar + "\n}) ";
  }

  void operation(int depth) {
    const Value a = use();
    switch (in_.ConsumeIntegralInRange(0, 22)) {
      case 0:
        return constant();
      case 1: {
        const std::string op = pick(kUnary);
        text_ +=
            define(a.type).name + " = stablehlo." + op + " " + a.name + " : " + a.type + tail();
        return;
      }
      case 2:
      case 3: {
        const std::string op = pick(kBinary);
        const Value b = use();
        text_ += define(a.type).name + " = stablehlo." + op + " " + a.name + ", " +
                 (b.type == a.type ? b.name : a.name) + " : " + a.type + tail();
        return;
      }
      case 4:
        return collective(a);
      case 5:
        return nested(depth);
      case 6:
        return generic("reshape", {a}, "", tensor());
      case 7:
        return generic("broadcast_in_dim", {a},
                       "broadcast_dimensions = array<i64: " + number() + ">", tensor());
      case 8:
        return generic("iota", {}, "iota_dimension = " + number() + " : i64", tensor());
      case 9:
        return generic("transpose", {a},
                       "permutation = array<i64: " + small(3) + ", " + small(3) + ">", tensor());
      case 10:
        return generic("slice", {a},
                       "start_indices = array<i64: " + number() + ">, limit_indices = array<i64: " +
                           number() + ">, strides = array<i64: " + number() + ">",
                       tensor());
      case 11:
        return generic("pad", {a, use()},
                       "edge_padding_low = array<i64: " + number() +
                           ">, edge_padding_high = array<i64: " + number() +
                           ">, interior_padding = array<i64: " + number() + ">",
                       tensor());
      case 12:
        return generic("concatenate", {a, use()}, "dimension = " + number() + " : i64", tensor());
      case 13:
        return generic("reduce", {a, use()}, "dimensions = array<i64: " + number() + ">", tensor(),
                       combiner("tensor<f32>"));
      case 14:
        return generic("reduce_window", {a, use()},
                       "window_dimensions = array<i64: " + number() +
                           ">, window_strides = array<i64: " + number() + ">, padding = " + dense(),
                       tensor(), combiner("tensor<f32>"));
      case 15:
        return generic("custom_call", {a},
                       "call_target_name = \"" + std::string(chance(2) ? "x" : "Sharding") +
                           "\", operand_layouts = [" + dense() + "], result_layouts = [" + dense() +
                           "], backend_config = " + attribute(2) + ", api_version = " + number() +
                           " : i32",
                       tensor());
      case 16:
        return generic("dot_general", {a, use()},
                       "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [" +
                           list(2) + "], rhs_batching_dimensions = [" + list(2) +
                           "], lhs_contracting_dimensions = [" + list(2) +
                           "], rhs_contracting_dimensions = [" + list(2) + "]>",
                       tensor());
      case 17:
        return generic("gather", {a, use()},
                       "dimension_numbers = #stablehlo.gather<offset_dims = [" + list(2) +
                           "], collapsed_slice_dims = [" + list(2) + "], start_index_map = [" +
                           list(2) + "], index_vector_dim = " + number() +
                           ">, slice_sizes = array<i64: " + number() + ">",
                       tensor());
      case 18:
        return generic("sort", {a}, "dimension = " + number() + " : i64", a.type,
                       combiner("tensor<f32>"));
      case 19:
        return generic("convert", {a}, "", tensor());
      case 20:
        return tuples(a);
      case 21:
        return call(a);
      default:
        return generic(chance(2) ? "convolution" : "fft", {a, use()},
                       "fft_length = array<i64: " + number() + ">, window_strides = array<i64: " +
                           number() + ">, padding = " + dense() +
                           ", batch_group_count = " + number() + " : i64, x = " + attribute(3),
                       tensor());
    }
  }

  void collective(const Value& a) {
    const std::string op = pick(kCollectives);
    const std::string groups =
        (op == "collective_permute" ? "source_target_pairs = " : "replica_groups = ");
    const std::string region =
        op == "all_reduce" || op == "reduce_scatter" ? combiner("tensor<f32>") : "";
    generic(op, {a},
            groups + dense() + ", all_gather_dim = " + number() +
                " : i64, scatter_dimension = " + number() + ", split_dimension = " + small(2) +
                " : i64, concat_dimension = " + small(2) + " : i64, split_count = " + number() +
                " : i64, channel_handle = #stablehlo.channel_handle<handle = " + number() +
                ", type = 1>",
            chance(2) ? a.type : tensor(), region);
  }

  // A case within a case and so on, or one loop or conditional with operations of its own.
  void nested(int depth) {
    if (chance(3)) {
      const int levels = std::min(chainLength(), kMaxNesting);
      const std::string scalar = "tensor<i32>";
      const Value condition = define(scalar);
      text_ += condition.name + " = stablehlo.constant dense<0> : tensor<i32>\n";
      const int first = valueCount_;
      valueCount_ += levels;
      for (int i = 0; i < levels; ++i) {
        text_ +=
            "%v" + std::to_string(first + i) + " = \"stablehlo.case\"(" + condition.name + ") ({\n";
      }
      text_ += "stablehlo.return " + condition.name + " : tensor<i32>\n";
      for (int i = levels; i-- > 0;) {
        text_ += "}) : (tensor<i32>) -> tensor<i32>\n";
        if (i > 0) text_ += "stablehlo.return %v" + std::to_string(first + i) + " : tensor<i32>\n";
      }
      values_.push_back({"%v" + std::to_string(first), scalar});
      return;
    }
    if (depth > 6) return;
    const Value carried = use();
    const std::string argument = "%w" + std::to_string(valueCount_++);
    const Value result = define(carried.type);
    const size_t outside = values_.size();
    text_ += result.name + " = \"stablehlo.while\"(" + carried.name + ") ({\n^bb0(" + argument +
             ": " + carried.type + "):\n%c" + argument.substr(1) + " = stablehlo.constant dense<" +
             (chance(2) ? "false" : "true") + "> : tensor<i1>\nstablehlo.return %c" +
             argument.substr(1) + " : tensor<i1>\n}, {\n^bb0(" + argument + ": " + carried.type +
             "):\n";
    values_.pop_back();
    values_.push_back({argument, carried.type});
    operations(in_.ConsumeIntegralInRange(0, 4), depth + 1);
    text_ += "stablehlo.return " + argument + " : " + carried.type + "\n}) : (" + carried.type +
             ") -> " + carried.type + "\n";
    values_.resize(outside - 1);
    values_.push_back(result);
  }

  void tuples(const Value& a) {
    const std::string type = "tuple<" + a.type + ", " + a.type + ">";
    const Value tuple = define(type);
    text_ += tuple.name + " = stablehlo.tuple " + a.name + ", " + a.name + " : " + type + "\n";
    const Value part = define(a.type);
    text_ += part.name + " = stablehlo.get_tuple_element " + tuple.name + "[" + number() + "] : (" +
             type + ") -> " + a.type + "\n";
  }

  void call(const Value& a) {
    const std::string name =
        callable_ == 0 ? "main" : "f" + std::to_string(in_.ConsumeIntegralInRange(0, callable_));
    const Value result = define(a.type);
    if (chance(4)) {
      text_ += result.name + " = stablehlo.composite \"a.b\" " + a.name + " {decomposition = @" +
               name + "} : (" + a.type + ") -> " + a.type + tail();
      return;
    }
    text_ += result.name + " = call @" + name + "(" + a.name + ") : (" + a.type + ") -> " + a.type +
             tail();
  }

  FuzzedDataProvider in_;
  std::string text_;
  std::vector<std::string> typeAliases_, attributeAliases_, locations_, tensors_;
  std::vector<Value> values_;
  int aliasCount_ = 0;
  int valueCount_ = 0;
  int callable_ = 0;
};

}  // namespace

std::string programText(const uint8_t* data, size_t size) { return Grammar(data, size).module(); }

}  // namespace isthmus::fuzz
