#include "base/program/custom_call.h"

namespace isthmus::ffi {

XLA_FFI_DataType toDataType(ElementType type) {
  switch (type) {
    case ElementType::kPred:
      return XLA_FFI_DataType_PRED;
    case ElementType::kS1:
      return XLA_FFI_DataType_S1;
    case ElementType::kS2:
      return XLA_FFI_DataType_S2;
    case ElementType::kS4:
      return XLA_FFI_DataType_S4;
    case ElementType::kS8:
      return XLA_FFI_DataType_S8;
    case ElementType::kS16:
      return XLA_FFI_DataType_S16;
    case ElementType::kS32:
      return XLA_FFI_DataType_S32;
    case ElementType::kS64:
      return XLA_FFI_DataType_S64;
    case ElementType::kU1:
      return XLA_FFI_DataType_U1;
    case ElementType::kU2:
      return XLA_FFI_DataType_U2;
    case ElementType::kU4:
      return XLA_FFI_DataType_U4;
    case ElementType::kU8:
      return XLA_FFI_DataType_U8;
    case ElementType::kU16:
      return XLA_FFI_DataType_U16;
    case ElementType::kU32:
      return XLA_FFI_DataType_U32;
    case ElementType::kU64:
      return XLA_FFI_DataType_U64;
    case ElementType::kF16:
      return XLA_FFI_DataType_F16;
    case ElementType::kF32:
      return XLA_FFI_DataType_F32;
    case ElementType::kF64:
      return XLA_FFI_DataType_F64;
    case ElementType::kBF16:
      return XLA_FFI_DataType_BF16;
    case ElementType::kC64:
      return XLA_FFI_DataType_C64;
    case ElementType::kC128:
      return XLA_FFI_DataType_C128;
    case ElementType::kToken:
      return XLA_FFI_DataType_TOKEN;
    case ElementType::kF8E5M2:
      return XLA_FFI_DataType_F8E5M2;
    case ElementType::kF8E4M3:
      return XLA_FFI_DataType_F8E4M3;
    case ElementType::kF8E4M3FN:
      return XLA_FFI_DataType_F8E4M3FN;
    case ElementType::kF8E4M3B11FNUZ:
      return XLA_FFI_DataType_F8E4M3B11FNUZ;
    case ElementType::kF8E5M2FNUZ:
      return XLA_FFI_DataType_F8E5M2FNUZ;
    case ElementType::kF8E4M3FNUZ:
      return XLA_FFI_DataType_F8E4M3FNUZ;
    case ElementType::kF8E3M4:
      return XLA_FFI_DataType_F8E3M4;
    case ElementType::kF8E8M0FNU:
      return XLA_FFI_DataType_F8E8M0FNU;
    case ElementType::kF4E2M1FN:
      return XLA_FFI_DataType_F4E2M1FN;
    default:
      return XLA_FFI_DataType_INVALID;
  }
}

}  // namespace isthmus::ffi
