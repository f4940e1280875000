// Text of a convolution's dimension numbers and window.
#include <array>

#include "compiler/dialect/assembly/assembly.h"
#include "compiler/dialect/dialect.h"
#include "llvm/ADT/STLExtras.h"

namespace isthmus::shlo {
namespace {

using mlir::AsmParser;
using mlir::failed;
using mlir::failure;
using mlir::OpAsmParser;
using mlir::ParseResult;
using mlir::succeeded;
using mlir::success;

// Where in one operand the two named dimensions and the spatial ones lie.
struct Layout {
  int64_t named[2] = {-1, -1};
  llvm::SmallVector<int64_t> spatial;
};

// Parses `[b, 0, 1, f]`, in which `names` are the two letters.
ParseResult parseLayout(AsmParser& parser, llvm::StringRef names, Layout& layout) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  llvm::SmallVector<std::pair<int64_t, int64_t>> spatial;  // (number, position)
  int64_t position = 0;
  auto parseDimension = [&]() -> ParseResult {
    int64_t here = position++;
    int64_t number;
    mlir::OptionalParseResult parsed = parser.parseOptionalInteger(number);
    if (parsed.has_value()) {
      if (failed(*parsed)) return failure();
      spatial.emplace_back(number, here);
      return success();
    }
    llvm::StringRef word;
    if (parser.parseKeyword(&word)) return failure();
    size_t index = word.size() == 1 ? names.find(word[0]) : llvm::StringRef::npos;
    if (index == llvm::StringRef::npos) {
      return parser.emitError(loc) << "unknown dimension " << word << ", expected " << names[0]
                                   << ", " << names[1] << " or a number";
    }
    if (layout.named[index] >= 0) {
      return parser.emitError(loc) << "dimension " << word << " is given twice";
    }
    layout.named[index] = here;
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDimension)) {
    return failure();
  }
  for (int i = 0; i < 2; ++i) {
    if (layout.named[i] < 0) {
      return parser.emitError(loc) << "dimension " << names[i] << " is not given";
    }
  }
  llvm::sort(spatial);
  for (auto [expected, entry] : llvm::enumerate(spatial)) {
    if (entry.first != static_cast<int64_t>(expected)) {
      return parser.emitError(loc) << "spatial dimensions must be 0, 1, ... each once, got "
                                   << entry.first << " where " << expected << " was expected";
    }
    layout.spatial.push_back(entry.second);
  }
  return success();
}

// Whether the positions are a permutation, so that the short form can say them.
bool isPermutation(int64_t a, int64_t b, llvm::ArrayRef<int64_t> spatial) {
  llvm::SmallVector<bool> seen(spatial.size() + 2, false);
  llvm::SmallVector<int64_t> all(spatial);
  all.append({a, b});
  for (int64_t position : all) {
    if (position < 0 || position >= static_cast<int64_t>(seen.size()) || seen[position]) {
      return false;
    }
    seen[position] = true;
  }
  return true;
}

void printLayout(mlir::AsmPrinter& printer, llvm::StringRef names, int64_t first, int64_t second,
                 llvm::ArrayRef<int64_t> spatial) {
  printer << '[';
  for (int64_t position = 0; position < static_cast<int64_t>(spatial.size()) + 2; ++position) {
    if (position) printer << ", ";
    if (position == first) {
      printer << names.substr(0, 1);
    } else if (position == second) {
      printer << names.substr(1, 1);
    } else {
      printer << llvm::find(spatial, position) - spatial.begin();
    }
  }
  printer << ']';
}

// The long form, which can say dimension numbers that no convolution may have.
ParseResult parseRaw(AsmParser& parser, ConvDimensionNumbersAttr& numbers) {
  constexpr std::array<llvm::StringLiteral, 9> kNames = {
      "input_batch_dimension",           "input_feature_dimension",
      "input_spatial_dimensions",        "kernel_input_feature_dimension",
      "kernel_output_feature_dimension", "kernel_spatial_dimensions",
      "output_batch_dimension",          "output_feature_dimension",
      "output_spatial_dimensions"};
  std::array<llvm::SmallVector<int64_t>, 9> values;
  auto parseField = [&]() -> ParseResult {
    llvm::SMLoc loc = parser.getCurrentLocation();
    llvm::StringRef word;
    if (parser.parseKeyword(&word) || parser.parseEqual()) return failure();
    const auto* name = llvm::find(kNames, word);
    if (name == kNames.end()) return parser.emitError(loc) << "unknown field " << word;
    size_t index = name - kNames.begin();
    values[index].clear();
    if (index % 3 != 2) return parser.parseInteger(values[index].emplace_back());
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
      return parser.parseInteger(values[index].emplace_back());
    });
  };
  if (parser.parseCommaSeparatedList(parseField) || parser.parseGreater()) return failure();
  for (int i = 0; i < 9; ++i) {
    if (i % 3 != 2 && values[i].empty()) values[i].push_back(0);
  }
  numbers = ConvDimensionNumbersAttr::get(parser.getContext(), values[0][0], values[1][0],
                                          values[2], values[3][0], values[4][0], values[5],
                                          values[6][0], values[7][0], values[8]);
  return success();
}

void printRaw(mlir::AsmPrinter& printer, ConvDimensionNumbersAttr numbers) {
  auto printList = [&](llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
    printer << ", " << name << " = [";
    llvm::interleaveComma(values, printer);
    printer << ']';
  };
  printer << "input_batch_dimension = " << numbers.getInputBatchDimension()
          << ", input_feature_dimension = " << numbers.getInputFeatureDimension();
  printList("input_spatial_dimensions", numbers.getInputSpatialDimensions());
  printer << ", kernel_input_feature_dimension = " << numbers.getKernelInputFeatureDimension()
          << ", kernel_output_feature_dimension = " << numbers.getKernelOutputFeatureDimension();
  printList("kernel_spatial_dimensions", numbers.getKernelSpatialDimensions());
  printer << ", output_batch_dimension = " << numbers.getOutputBatchDimension()
          << ", output_feature_dimension = " << numbers.getOutputFeatureDimension();
  printList("output_spatial_dimensions", numbers.getOutputSpatialDimensions());
}

bool hasShortForm(ConvDimensionNumbersAttr numbers) {
  return isPermutation(numbers.getInputBatchDimension(), numbers.getInputFeatureDimension(),
                       numbers.getInputSpatialDimensions()) &&
         isPermutation(numbers.getKernelInputFeatureDimension(),
                       numbers.getKernelOutputFeatureDimension(),
                       numbers.getKernelSpatialDimensions()) &&
         isPermutation(numbers.getOutputBatchDimension(), numbers.getOutputFeatureDimension(),
                       numbers.getOutputSpatialDimensions());
}

}  // namespace

ParseResult parseConvolutionDimensions(AsmParser& parser, ConvDimensionNumbersAttr& numbers) {
  Layout input, kernel, output;
  if (parseLayout(parser, "bf", input) || parser.parseKeyword("x") ||
      parseLayout(parser, "io", kernel) || parser.parseArrow() ||
      parseLayout(parser, "bf", output)) {
    return failure();
  }
  numbers = ConvDimensionNumbersAttr::get(
      parser.getContext(), input.named[0], input.named[1], input.spatial, kernel.named[0],
      kernel.named[1], kernel.spatial, output.named[0], output.named[1], output.spatial);
  return success();
}

ParseResult parseConvolutionDimensions(OpAsmParser& parser, ConvDimensionNumbersAttr& numbers) {
  if (succeeded(parser.parseOptionalKeyword("raw"))) {
    return ParseResult(failure(parser.parseLess() || parseRaw(parser, numbers)));
  }
  return parseConvolutionDimensions(static_cast<AsmParser&>(parser), numbers);
}

void printConvolutionDimensions(mlir::AsmPrinter& printer, ConvDimensionNumbersAttr numbers) {
  printLayout(printer, "bf", numbers.getInputBatchDimension(), numbers.getInputFeatureDimension(),
              numbers.getInputSpatialDimensions());
  printer << 'x';
  printLayout(printer, "io", numbers.getKernelInputFeatureDimension(),
              numbers.getKernelOutputFeatureDimension(), numbers.getKernelSpatialDimensions());
  printer << "->";
  printLayout(printer, "bf", numbers.getOutputBatchDimension(), numbers.getOutputFeatureDimension(),
              numbers.getOutputSpatialDimensions());
}

void printConvolutionDimensions(mlir::OpAsmPrinter& printer, mlir::Operation*,
                                ConvDimensionNumbersAttr numbers) {
  if (hasShortForm(numbers)) return printConvolutionDimensions(printer, numbers);
  printer << "raw<";
  printRaw(printer, numbers);
  printer << '>';
}

mlir::Attribute ConvDimensionNumbersAttr::parse(AsmParser& parser, mlir::Type) {
  ConvDimensionNumbersAttr numbers;
  if (parser.parseLess()) return {};
  if (succeeded(parser.parseOptionalKeyword("raw"))) {
    if (parseRaw(parser, numbers)) return {};
    return numbers;
  }
  if (parseConvolutionDimensions(parser, numbers) || parser.parseGreater()) return {};
  return numbers;
}

void ConvDimensionNumbersAttr::print(mlir::AsmPrinter& printer) const {
  printer << '<';
  if (hasShortForm(*this)) {
    printConvolutionDimensions(printer, *this);
  } else {
    printer << "raw ";
    printRaw(printer, *this);
  }
  printer << '>';
}

ParseResult parseWindowAttributes(OpAsmParser& parser, mlir::DenseI64ArrayAttr& strides,
                                  mlir::DenseIntElementsAttr& padding,
                                  mlir::DenseI64ArrayAttr& lhsDilation,
                                  mlir::DenseI64ArrayAttr& rhsDilation,
                                  mlir::DenseBoolArrayAttr& reversal) {
  auto& builder = parser.getBuilder();
  auto parseIntegers = [&](llvm::SmallVectorImpl<int64_t>& values) {
    return parser.parseCommaSeparatedList(
        AsmParser::Delimiter::Square, [&] { return parser.parseInteger(values.emplace_back()); });
  };
  llvm::SmallVector<llvm::StringRef> seen;
  llvm::StringRef name;
  llvm::SMLoc loc = parser.getCurrentLocation();
  while (succeeded(parser.parseOptionalKeyword(&name))) {
    if (llvm::is_contained(seen, name)) {
      return parser.emitError(loc) << name << " is given twice";
    }
    seen.push_back(name);
    if (parser.parseEqual()) return failure();
    llvm::SmallVector<int64_t> values;
    if (name == "pad") {
      auto parsePair = [&]() -> ParseResult {
        size_t before = values.size();
        if (parseIntegers(values)) return failure();
        if (values.size() == before + 2) return success();
        return parser.emitError(loc)
               << "expected pairs of padding, got " << values.size() - before << " numbers";
      };
      if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parsePair)) {
        return failure();
      }
      padding = mlir::DenseIntElementsAttr::get(
          mlir::RankedTensorType::get({static_cast<int64_t>(values.size() / 2), 2},
                                      builder.getI64Type()),
          values);
    } else if (name == "reverse") {
      // Written as numbers, or as words.
      llvm::SmallVector<bool> flags;
      auto parseFlag = [&]() -> ParseResult {
        if (succeeded(parser.parseOptionalKeyword("true"))) {
          flags.push_back(true);
        } else if (succeeded(parser.parseOptionalKeyword("false"))) {
          flags.push_back(false);
        } else {
          int64_t value;
          if (parser.parseInteger(value)) return failure();
          flags.push_back(value != 0);
        }
        return success();
      };
      if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseFlag)) {
        return failure();
      }
      reversal = builder.getDenseBoolArrayAttr(flags);
    } else if (name == "stride" || name == "lhs_dilate" || name == "rhs_dilate") {
      if (parseIntegers(values)) return failure();
      (name == "stride"       ? strides
       : name == "lhs_dilate" ? lhsDilation
                              : rhsDilation) = builder.getDenseI64ArrayAttr(values);
    } else {
      return parser.emitError(loc) << "unknown window attribute " << name;
    }
    if (failed(parser.parseOptionalComma())) break;
    loc = parser.getCurrentLocation();
  }
  return success();
}

void printWindowAttributes(mlir::OpAsmPrinter& printer, mlir::Operation*,
                           mlir::DenseI64ArrayAttr strides, mlir::DenseIntElementsAttr padding,
                           mlir::DenseI64ArrayAttr lhsDilation, mlir::DenseI64ArrayAttr rhsDilation,
                           mlir::DenseBoolArrayAttr reversal) {
  llvm::StringRef separator = "";
  auto begin = [&](llvm::StringRef name) {
    printer << separator << name << " = [";
    separator = ", ";
  };
  auto printList = [&](llvm::StringRef name, mlir::DenseI64ArrayAttr values) {
    if (!values) return;
    begin(name);
    llvm::interleaveComma(values.asArrayRef(), printer);
    printer << ']';
  };
  printList("stride", strides);
  if (padding) {
    begin("pad");
    llvm::SmallVector<int64_t> values(padding.getValues<int64_t>());
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      if (i) printer << ", ";
      printer << '[' << values[i] << ", " << values[i + 1] << ']';
    }
    printer << ']';
  }
  printList("lhs_dilate", lhsDilation);
  printList("rhs_dilate", rhsDilation);
  if (reversal) {
    begin("reverse");
    llvm::interleaveComma(reversal.asArrayRef(), printer);
    printer << ']';
  }
}

}  // namespace isthmus::shlo
