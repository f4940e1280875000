// The operations of every released VHLO version, and how each becomes an operation of ours.
#include "compiler/import/vhlo/vhlo_ops.h"

#include "compiler/dialect/dialect.h"
#include "compiler/dialect/facts/op_facts.h"
#include "compiler/import/vhlo/vhlo_op_table.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

namespace isthmus::importer {
namespace {

using Kind = VhloAttribute::Kind;

VhloAttribute parseAttribute(llvm::StringRef word) {
  VhloAttribute result;
  llvm::StringRef nameAndKind, kind;
  std::tie(nameAndKind, result.defaultValue) = word.split('?');
  std::tie(result.name, kind) = nameAndKind.split(':');
  result.kind = llvm::StringSwitch<Kind>(kind)
                    .Case("i64s", Kind::kI64Array)
                    .Case("bools", Kind::kBoolArray)
                    .Case("symbol", Kind::kSymbol)
                    .Case("symbols", Kind::kSymbols)
                    .Case("unit", Kind::kUnit)
                    .Case("channel", Kind::kChannel)
                    .Case("drop", Kind::kDropped)
                    .Default(Kind::kAsIs);
  return result;
}

llvm::StringMap<VhloOp> parseTable() {
  llvm::StringMap<VhloOp> table;
  for (size_t i = 0; i < kNumVhloOps; ++i) {
    VhloOp op;
    op.name = kVhloOps[i].name;
    op.baseName = op.name.substr(0, op.name.rfind("_v"));
    llvm::SmallVector<llvm::StringRef> words;
    llvm::StringRef(kVhloOps[i].attributes).split(words, ' ', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef word : words) op.attributes.push_back(parseAttribute(word));
    table[op.name] = std::move(op);
  }
  // Elementwise operations have no attributes unless the table says so.
  for (const OpFacts& facts : allOpFacts()) {
    if (facts.fusionClass != FusionClass::kElementwise) continue;
    auto [entry, isNew] = table.try_emplace(std::string(facts.name) + "_v1");
    if (!isNew) continue;
    entry->second.name = entry->first();
    entry->second.baseName = facts.name;
  }
  return table;
}

bool isInteger(mlir::Attribute attribute, int64_t value) {
  auto integer = mlir::dyn_cast<mlir::IntegerAttr>(attribute);
  return integer && integer.getValue().getSignificantBits() <= 64 &&
         integer.getValue().getSExtValue() == value;
}

bool isEmpty(mlir::Attribute attribute) {
  if (auto string = mlir::dyn_cast<mlir::StringAttr>(attribute)) return string.empty();
  if (auto array = mlir::dyn_cast<mlir::ArrayAttr>(attribute)) return array.empty();
  if (auto dictionary = mlir::dyn_cast<mlir::DictionaryAttr>(attribute)) return dictionary.empty();
  if (auto tensor = mlir::dyn_cast<mlir::DenseElementsAttr>(attribute)) return tensor.empty();
  return false;
}

bool isSplat(mlir::Attribute attribute, int64_t value) {
  auto tensor = mlir::dyn_cast<mlir::DenseIntElementsAttr>(attribute);
  return tensor && tensor.isSplat() &&
         tensor.getSplatValue<llvm::APInt>().getZExtValue() == static_cast<uint64_t>(value);
}

// Every precision is the default one, or the result accuracy is.
bool isDefault(mlir::Attribute attribute) {
  if (auto array = mlir::dyn_cast<mlir::ArrayAttr>(attribute)) {
    return llvm::all_of(array, [](mlir::Attribute element) {
      auto precision = mlir::dyn_cast<shlo::PrecisionAttr>(element);
      return precision && precision.getValue() == shlo::Precision::DEFAULT;
    });
  }
  auto accuracy = mlir::dyn_cast<shlo::ResultAccuracyAttr>(attribute);
  return accuracy && accuracy.getAtol().isZero() && accuracy.getRtol().isZero() &&
         accuracy.getUlps() == 0 &&
         accuracy.getMode().getValue() == shlo::ResultAccuracyMode::DEFAULT;
}

bool hasDefaultValue(llvm::StringRef defaultValue, mlir::Attribute attribute) {
  if (defaultValue.empty()) return false;
  if (defaultValue == "empty") return isEmpty(attribute);
  if (defaultValue == "default") return isDefault(attribute);
  if (defaultValue == "0s") return isSplat(attribute, 0);
  if (defaultValue == "1s") return isSplat(attribute, 1);
  if (defaultValue == "false") {
    return attribute == mlir::BoolAttr::get(attribute.getContext(), false);
  }
  if (defaultValue == "NOTYPE") {
    auto type = mlir::dyn_cast<shlo::ComparisonTypeAttr>(attribute);
    return type && type.getValue() == shlo::ComparisonType::NOTYPE;
  }
  if (defaultValue == "API_VERSION_ORIGINAL") {
    auto version = mlir::dyn_cast<shlo::CustomCallApiVersionAttr>(attribute);
    return version && version.getValue() == shlo::CustomCallApiVersion::API_VERSION_ORIGINAL;
  }
  int64_t value;
  return !defaultValue.getAsInteger(10, value) && isInteger(attribute, value);
}

// The attributes of one operation on their way to ours. A conversion that meets an attribute of the
// wrong kind reports it once and goes on with an empty value.
class Upgrade {
 public:
  Upgrade(const VhloOp& op, mlir::MLIRContext* context, mlir::NamedAttrList& attributes,
          ErrorSink& sink)
      : op_(op), context_(context), attributes_(attributes), sink_(sink) {}

  bool run() {
    groupDimensions();
    for (const VhloAttribute& attribute : op_.attributes) convert(attribute);
    return !sink_.failed();
  }

 private:
  // Takes an attribute out of the list. Null if it is not there.
  mlir::Attribute take(llvm::StringRef name) { return attributes_.erase(name); }

  bool wrong(llvm::StringRef name) {
    return sink_.fail(StatusCode::kInvalidArgument,
                      internal::concatenate("vhlo.", std::string_view(op_.name), ": attribute '",
                                            std::string_view(name), "' is missing or malformed"));
  }

  int64_t takeInt(llvm::StringRef name) {
    auto integer = mlir::dyn_cast_or_null<mlir::IntegerAttr>(take(name));
    if (!integer || integer.getValue().getSignificantBits() > 64) return wrong(name), 0;
    return integer.getValue().getSExtValue();
  }

  llvm::SmallVector<int64_t> toInts(llvm::StringRef name, mlir::Attribute attribute) {
    auto tensor = mlir::dyn_cast_or_null<mlir::DenseIntElementsAttr>(attribute);
    if (!tensor || !tensor.getElementType().isSignlessInteger(64) || !isSmall(tensor)) {
      return wrong(name), llvm::SmallVector<int64_t>();
    }
    return llvm::SmallVector<int64_t>(tensor.getValues<int64_t>());
  }
  llvm::SmallVector<int64_t> takeInts(llvm::StringRef name) { return toInts(name, take(name)); }
  // As `takeInts`, for attributes that operations of older versions do not have.
  llvm::SmallVector<int64_t> takeIntsIfPresent(llvm::StringRef name) {
    mlir::Attribute attribute = take(name);
    if (!attribute) return {};
    return toInts(name, attribute);
  }
  // A splat may claim any number of elements; attributes that list dimensions have few.
  static bool isSmall(mlir::DenseElementsAttr tensor) {
    constexpr int64_t kMaxElements = 1024;
    return tensor.getType().getRank() == 1 && tensor.getNumElements() <= kMaxElements;
  }

  mlir::Attribute symbol(llvm::StringRef name, mlir::Attribute attribute) {
    auto string = mlir::dyn_cast_or_null<mlir::StringAttr>(attribute);
    if (!string) return wrong(name), nullptr;
    return mlir::FlatSymbolRefAttr::get(string);
  }

  void convert(const VhloAttribute& rule);
  void groupDimensions();
  void groupDotAlgorithm();

  const VhloOp& op_;
  mlir::MLIRContext* context_;
  mlir::NamedAttrList& attributes_;
  ErrorSink& sink_;
};

void Upgrade::convert(const VhloAttribute& rule) {
  mlir::Attribute value = attributes_.get(rule.name);
  if (!value) return;
  if (rule.kind == Kind::kDropped || hasDefaultValue(rule.defaultValue, value)) {
    take(rule.name);
    return;
  }
  switch (rule.kind) {
    case Kind::kAsIs:
    case Kind::kDropped:
      return;
    case Kind::kI64Array:
      attributes_.set(rule.name, mlir::DenseI64ArrayAttr::get(context_, takeInts(rule.name)));
      return;
    case Kind::kBoolArray: {
      auto tensor = mlir::dyn_cast<mlir::DenseIntElementsAttr>(value);
      if (!tensor || !tensor.getElementType().isSignlessInteger(1) || !isSmall(tensor)) {
        wrong(rule.name);
        return;
      }
      attributes_.set(rule.name, mlir::DenseBoolArrayAttr::get(
                                     context_, llvm::SmallVector<bool>(tensor.getValues<bool>())));
      return;
    }
    case Kind::kSymbol:
      if (mlir::Attribute name = symbol(rule.name, value)) attributes_.set(rule.name, name);
      return;
    case Kind::kSymbols: {
      auto array = mlir::dyn_cast<mlir::ArrayAttr>(value);
      if (!array) {
        wrong(rule.name);
        return;
      }
      llvm::SmallVector<mlir::Attribute> symbols;
      for (mlir::Attribute element : array) symbols.push_back(symbol(rule.name, element));
      if (!sink_.failed()) attributes_.set(rule.name, mlir::ArrayAttr::get(context_, symbols));
      return;
    }
    case Kind::kUnit: {
      auto flag = mlir::dyn_cast<mlir::BoolAttr>(take(rule.name));
      if (!flag) {
        wrong(rule.name);
      } else if (flag.getValue()) {
        attributes_.set(rule.name, mlir::UnitAttr::get(context_));
      }
      return;
    }
    case Kind::kChannel: {
      const int64_t id = takeInt(rule.name);
      if (id != 0) {
        attributes_.set("channel_handle",
                        shlo::ChannelHandleAttr::get(context_, id, /*channelType=*/0));
      }
      return;
    }
  }
}

// VHLO says the members of StableHLO's structured attributes one by one.
void Upgrade::groupDimensions() {
  const llvm::StringRef base = op_.baseName;
  if (base == "convolution" || base == "dynamic_conv") {
    // The order of evaluation of arguments is not fixed, but the order of reading does not matter.
    attributes_.set(
        "dimension_numbers",
        shlo::ConvDimensionNumbersAttr::get(
            context_, takeInt("input_batch_dimension"), takeInt("input_feature_dimension"),
            takeInts("input_spatial_dimensions"), takeInt("kernel_input_feature_dimension"),
            takeInt("kernel_output_feature_dimension"), takeInts("kernel_spatial_dimensions"),
            takeInt("output_batch_dimension"), takeInt("output_feature_dimension"),
            takeInts("output_spatial_dimensions")));
  } else if (base == "dot_general") {
    attributes_.set(
        "dot_dimension_numbers",
        shlo::DotDimensionNumbersAttr::get(
            context_, takeInts("lhs_batching_dimensions"), takeInts("rhs_batching_dimensions"),
            takeInts("lhs_contracting_dimensions"), takeInts("rhs_contracting_dimensions")));
    groupDotAlgorithm();
  } else if (base == "gather" || base == "dynamic_gather") {
    attributes_.set("dimension_numbers",
                    shlo::GatherDimensionNumbersAttr::get(
                        context_, takeInts("offset_dims"), takeInts("collapsed_slice_dims"),
                        takeIntsIfPresent("operand_batching_dims"),
                        takeIntsIfPresent("start_indices_batching_dims"),
                        takeInts("start_index_map"), takeInt("index_vector_dim")));
  } else if (base == "scatter") {
    attributes_.set("scatter_dimension_numbers",
                    shlo::ScatterDimensionNumbersAttr::get(
                        context_, takeInts("update_window_dims"), takeInts("inserted_window_dims"),
                        takeIntsIfPresent("input_batching_dims"),
                        takeIntsIfPresent("scatter_indices_batching_dims"),
                        takeInts("scatter_dims_to_operand_dims"), takeInt("index_vector_dim")));
  } else if (base == "send" || base == "recv") {
    attributes_.set("channel_handle", shlo::ChannelHandleAttr::get(context_, takeInt("channel_id"),
                                                                   takeInt("channel_type")));
  } else if (base == "custom_call") {
    mlir::Attribute operandLayouts = attributes_.get("operand_layouts");
    mlir::Attribute resultLayouts = attributes_.get("result_layouts");
    if (operandLayouts && resultLayouts && isEmpty(operandLayouts) && isEmpty(resultLayouts)) {
      take("operand_layouts");
      take("result_layouts");
    }
  }
}

void Upgrade::groupDotAlgorithm() {
  constexpr llvm::StringLiteral kMembers[] = {
      "lhs_precision_type",          "rhs_precision_type",  "accumulation_type",
      "lhs_component_count",         "rhs_component_count", "num_primitive_operations",
      "allow_imprecise_accumulation"};
  auto isNone = [&](llvm::StringRef name) {
    auto type = mlir::dyn_cast_or_null<mlir::TypeAttr>(attributes_.get(name));
    return type && mlir::isa<mlir::NoneType>(type.getValue());
  };
  if (!attributes_.get(kMembers[0])) return;  // before version 1.6
  if (llvm::all_of(kMembers, isNone)) {
    for (llvm::StringRef name : kMembers) take(name);
    return;
  }
  mlir::Type types[3];
  for (int i = 0; i < 3; ++i) {
    auto type = mlir::dyn_cast_or_null<mlir::TypeAttr>(take(kMembers[i]));
    if (!type) {
      wrong(kMembers[i]);
      return;
    }
    types[i] = type.getValue();
  }
  const int64_t lhsComponents = takeInt(kMembers[3]);
  const int64_t rhsComponents = takeInt(kMembers[4]);
  const int64_t primitiveOperations = takeInt(kMembers[5]);
  auto imprecise = mlir::dyn_cast_or_null<mlir::BoolAttr>(take(kMembers[6]));
  if (!imprecise) {
    wrong(kMembers[6]);
    return;
  }
  auto report = [this] { return mlir::emitError(mlir::UnknownLoc::get(context_)); };
  auto algorithm = shlo::DotAlgorithmAttr::getChecked(report, context_, types[0], types[1],
                                                      types[2], lhsComponents, rhsComponents,
                                                      primitiveOperations, imprecise.getValue());
  if (!algorithm) {
    wrong("algorithm");
    return;
  }
  attributes_.set("algorithm", algorithm);
}

}  // namespace

const VhloOp* findVhloOp(llvm::StringRef name) {
  static const auto* const kTable = new llvm::StringMap<VhloOp>(parseTable());
  auto found = kTable->find(name);
  return found == kTable->end() ? nullptr : &found->second;
}

bool readVhloProperties(const VhloOp& op, DecodeStream& in, mlir::NamedAttrList& attributes) {
  for (const VhloAttribute& attribute : op.attributes) {
    mlir::Attribute value;
    if (!in.attribute(value)) return false;
    attributes.set(attribute.name, value);
  }
  return in.cursor().atEnd() || in.cursor().fail("has bytes after an operation's properties");
}

std::string upgradedName(const VhloOp& op, bool isInFunction) {
  if (op.baseName == "func" || op.baseName == "call") return ("func." + op.baseName).str();
  if (op.baseName == "return" && isInFunction) return "func.return";
  return ("stablehlo." + op.baseName).str();
}

bool upgradeAttributes(const VhloOp& op, mlir::MLIRContext* context,
                       mlir::NamedAttrList& attributes, ErrorSink& sink) {
  return Upgrade(op, context, attributes, sink).run();
}

}  // namespace isthmus::importer
