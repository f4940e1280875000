// Shapes and literals of HLO as types and constants of MLIR.
#pragma once

#include "compiler/import/bytecode/cursor.h"
#include "compiler/import/hlo/messages.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/TypeRange.h"
#include "mlir/IR/Types.h"

namespace isthmus::importer {

// Appends the types of the shape's leaves, in order. False with the error in the sink for shapes
// that do not exist or are not supported.
bool appendLeafTypes(const hlo::Shape& shape, mlir::MLIRContext* context, ErrorSink& sink,
                     llvm::SmallVectorImpl<mlir::Type>& types);

// A serialized xla.ShapeProto of arrays: of a tuple if there is not exactly one. Null types and
// what has no number in XLA give kUnimplemented in the sink, and an empty string.
std::string shapeMessage(mlir::TypeRange types, ErrorSink& sink);

bool isTuple(const hlo::Shape& shape);

// A literal of an array shape. Null with the error in the sink.
mlir::Attribute toElements(const hlo::Literal& literal, mlir::MLIRContext* context,
                           ErrorSink& sink);

}  // namespace isthmus::importer
