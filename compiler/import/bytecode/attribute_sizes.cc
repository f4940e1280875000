#include "compiler/import/bytecode/attribute_sizes.h"

#include <string>

#include "compiler/dialect/diagnostics/source_location.h"
#include "compiler/dialect/dialect.h"
#include "compiler/import/bytecode/attribute_decoder.h"
#include "mlir/IR/AttrTypeSubElements.h"

namespace isthmus::importer {
namespace {

// Whether the bytes are those of as many elements as the type has, or of one for all. MLIR's parser
// takes complex numbers for elements that are none, and makes twice the bytes of them.
bool hasBytesOfItsType(mlir::DenseIntOrFPElementsAttr elements) {
  bool isOfOne = false;
  if (!mlir::DenseElementsAttr::isValidRawBuffer(elements.getType(), elements.getRawData(),
                                                 isOfOne)) {
    return false;
  }
  // Eight booleans have the bytes of one.
  return isOfOne == elements.isSplat() || elements.getNumElements() == 1 ||
         elements.getElementType().isInteger(1);
}

class SizeCheck {
 public:
  explicit SizeCheck(ErrorSink& sink) : sink_(sink) {
    for (mlir::AttrTypeWalker* walker : {&values_, &listed_}) {
      walker->addWalk([](mlir::Type type) {
        auto shaped = mlir::dyn_cast<mlir::ShapedType>(type);
        const bool isFine = !shaped || !shaped.hasRank() || isReasonableShape(shaped.getShape());
        return isFine ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
      });
    }
    listed_.addWalk([](mlir::ElementsAttr elements) {
      const mlir::ShapedType type = elements.getShapedType();
      // The walk of the type comes later: products must not overflow here.
      const bool isFine = type.hasStaticShape() && isReasonableShape(type.getShape()) &&
                          elements.getNumElements() <= kMaxListedElements;
      return isFine ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
    });
    bytes_.addWalk([](mlir::DenseIntOrFPElementsAttr elements) {
      return hasBytesOfItsType(elements) ? mlir::WalkResult::advance()
                                         : mlir::WalkResult::interrupt();
    });
  }

  bool check(mlir::Operation* op) {
    if (!checkTypes(op)) return false;
    mlir::NamedAttrList attributes(op->getDiscardableAttrDictionary());
    op->getName().populateInherentAttrs(op, attributes);
    const bool isConstant = mlir::isa<shlo::ConstantOp>(op);
    for (const mlir::NamedAttribute& attribute : attributes) {
      mlir::AttrTypeWalker& walker =
          isConstant && attribute.getName() == "value" ? values_ : listed_;
      if (walker.walk(attribute.getValue()).wasInterrupted()) {
        return refuse(op, attribute, "program has an attribute that is too large");
      }
      if (bytes_.walk(attribute.getValue()).wasInterrupted()) {
        return refuse(op, attribute, "program has an attribute whose elements do not fit its type");
      }
    }
    return true;
  }

 private:
  bool checkTypes(mlir::Operation* op) {
    auto isFine = [this](mlir::Type type) { return !values_.walk(type).wasInterrupted(); };
    bool areTypesFine = llvm::all_of(op->getResultTypes(), isFine);
    for (mlir::Region& region : op->getRegions()) {
      for (mlir::Block& block : region) {
        areTypesFine = areTypesFine && llvm::all_of(block.getArgumentTypes(), isFine);
      }
    }
    if (!areTypesFine) {
      return sink_.fail(StatusCode::kInvalidArgument, "program has a tensor that is too large");
    }
    return true;
  }

  bool refuse(mlir::Operation* op, const mlir::NamedAttribute& attribute, const char* what) {
    return sink_.fail(StatusCode::kInvalidArgument,
                      internal::concatenate(what, ": '", attribute.getName().str(), "' of '",
                                            op->getName().getStringRef().str(), "'"));
  }

  ErrorSink& sink_;
  // Each visits what it has visited before no more: their work is linear in the program.
  mlir::AttrTypeWalker values_;
  mlir::AttrTypeWalker listed_;
  mlir::AttrTypeWalker bytes_;
};

}  // namespace

bool checkSizes(mlir::ModuleOp module, ErrorSink& sink) {
  SizeCheck check(sink);
  auto result = module.walk([&](mlir::Operation* op) {
    return check.check(op) ? mlir::WalkResult::advance() : mlir::WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

}  // namespace isthmus::importer
