// Polynomial coefficients of the vector math library, lowest first. Made by
// generate_coefficients.py; do not edit.
#pragma once

namespace isthmus::codegen {

// error 3.3e-09
inline constexpr double kExpF32[] = {
    0x1.fffffc0000000p-2, 0x1.55548a0000000p-3,  0x1.5559160000000p-5,
    0x1.123fc60000000p-7, 0x1.6a1a9c0000000p-10,
};
// error 5.8e-09
inline constexpr double kLogF32[] = {
    0x1.5555540000000p-2, -0x1.0002260000000p-2, 0x1.99a0080000000p-3, -0x1.54724a0000000p-3,
    0x1.22da3c0000000p-3, -0x1.0d85300000000p-3, 0x1.055a900000000p-3, -0x1.38b3c00000000p-4,
};
// error 3.6e-09
inline constexpr double kSinF32[] = {
    -0x1.5555460000000p-3,
    0x1.1107560000000p-7,
    -0x1.994b400000000p-13,
};
// error 9.6e-11
inline constexpr double kCosF32[] = {
    0x1.55554a0000000p-5,
    -0x1.6c0c820000000p-10,
    0x1.99ff400000000p-16,
};
// error 6.6e-10
inline constexpr double kAtanF32[] = {
    -0x1.55554a0000000p-2, 0x1.9991a60000000p-3,  -0x1.23b6360000000p-3,
    0x1.b1fa1e0000000p-4,  -0x1.f22b2e0000000p-5,
};
// error 6e-20
inline constexpr double kExpF64[] = {
    0x1.0000000000000p-1,  0x1.555555555555cp-3,  0x1.55555555554fap-5,  0x1.111111110e962p-7,
    0x1.6c16c16c3261dp-10, 0x1.a01a01b4aa113p-13, 0x1.a01a013016068p-16, 0x1.71dded2ac5157p-19,
    0x1.27e5bbd87d069p-22, 0x1.af711e22fc514p-26, 0x1.1e39664c128d6p-29,
};
// error 2.5e-18
inline constexpr double kLogRatioF64[] = {
    0x1.5555555555593p-1, 0x1.999999997fb0fp-2, 0x1.249249421929bp-2, 0x1.c71c51e6edc59p-3,
    0x1.7466465b4b833p-3, 0x1.39a0f0e201e0fp-3, 0x1.2f0db39397d5ap-3,
};
// error 2.2e-22
inline constexpr double kLogRatioTailF64[] = {
    0x1.999999999999ap-2, 0x1.2492492492492p-2, 0x1.c71c71c71c705p-3, 0x1.745d1745d3f6dp-3,
    0x1.3b13b138eb754p-3, 0x1.1111122170afap-3, 0x1.e1e13e91e7a8cp-4, 0x1.af46a47cf6528p-4,
    0x1.82bbbd38bdb7bp-4, 0x1.987c659c51f6ap-4,
};
// error 2e-21
inline constexpr double kSinF64[] = {
    -0x1.5555555555555p-3,  0x1.111111111110bp-7,  -0x1.a01a01a018ab1p-13, 0x1.71de3a53354ffp-19,
    -0x1.ae645292ccfb4p-26, 0x1.61208f295fbbep-33, -0x1.aaa37ceb22220p-41,
};
// error 2.3e-23
inline constexpr double kCosF64[] = {
    0x1.5555555555555p-5,  -0x1.6c16c16c16c10p-10, 0x1.a01a01a018dbfp-16, -0x1.27e4fb75fa961p-22,
    0x1.1eed8ca0636edp-29, -0x1.9393347f8e4f2p-37, 0x1.aac3f64f880abp-45,
};
// error 1.7e-21
inline constexpr double kAtanF64[] = {
    -0x1.5555555555555p-2, 0x1.9999999999970p-3, -0x1.2492492490a2fp-3, 0x1.c71c71c60dda0p-4,
    -0x1.745d171297a13p-4, 0x1.3b13aafc4984fp-4, -0x1.11108cfb66f87p-4, 0x1.e1d2a5f58ac22p-5,
    -0x1.ae8925eeb8d6cp-5, 0x1.817b4584cf960p-5, -0x1.4c2f857b2862fp-5, 0x1.e51b79e609865p-6,
    -0x1.a9399c553ac74p-7,
};
// error 3.9e-10
inline constexpr double kErfF32[] = {
    0x1.20dd760000000p+0, -0x1.8127440000000p-2,  0x1.ce2e340000000p-4,  -0x1.b812280000000p-6,
    0x1.54ea640000000p-8, -0x1.ab6e920000000p-11, 0x1.60bc600000000p-14,
};
// error 3.2e-11
inline constexpr double kLogErfcF32[] = {
    0x1.56023a0000000p-13, -0x1.21238c0000000p+0,  -0x1.445b5e0000000p-1,
    -0x1.ba99020000000p-4, 0x1.9875720000000p-6,   -0x1.0acb520000000p-8,
    0x1.a58c4c0000000p-12, -0x1.fe7d560000000p-17, -0x1.ea09400000000p-22,
};
// error 1.6e-07
inline constexpr double kShortExpF32[] = {
    0x1.fffd420000000p-2,
    0x1.55548c0000000p-3,
    0x1.576e080000000p-5,
    0x1.1243940000000p-7,
};
// error of the quotient 5.7e-09
inline constexpr double kErfcxF32[] = {
    0x1.133bce0000000p+4, 0x1.54db420000000p+4, 0x1.92bba80000000p+3,
    0x1.f8ba040000000p+1, 0x1.20de580000000p-1,
};
inline constexpr double kErfcxDivisorF32[] = {
    0x1.133bce0000000p+4, 0x1.45b6560000000p+5, 0x1.4a97920000000p+5,
    0x1.6ccb580000000p+4, 0x1.bf54d60000000p+2, 0x1.0000000000000p+0,
};
// error 7.5e-05
inline constexpr double kExp2Bits8[] = {
    0x1.fff6920000000p-1,
    0x1.62f31a0000000p-1,
    0x1.f0de1a0000000p-3,
    0x1.c3f7640000000p-5,
};
// error 2.6e-06
inline constexpr double kExp2Bits11[] = {
    0x1.ffffe80000000p-1, 0x1.62e0dc0000000p-1, 0x1.ec06da0000000p-3,
    0x1.ca143e0000000p-5, 0x1.3997e20000000p-7,
};
// error of the quotient 1.1e-06
inline constexpr double kTanhBits11[] = {
    0x1.cc52ce0000000p+13,
    0x1.afdc780000000p+10,
    0x1.8d2e320000000p+4,
};
inline constexpr double kTanhDivisorBits11[] = {
    0x1.cc52f00000000p+13,
    0x1.9ed6e00000000p+12,
    0x1.1172f60000000p+8,
    0x1.0000000000000p+0,
};
// error 1.1e-05
inline constexpr double kErfBits11[] = {
    0x1.20dca40000000p+0,
    -0x1.803eae0000000p-2,
    0x1.a6fb9e0000000p-4,
};
// error 2.5e-06
inline constexpr double kLogErfcBits11[] = {
    -0x1.bc91380000000p-10, -0x1.1e55d60000000p+0, -0x1.511f000000000p-1,
    -0x1.4940f60000000p-4,  0x1.34a2400000000p-7,
};
// error of the quotient 2.5e-05
inline constexpr double kErfcxBits11[] = {
    0x1.204b220000000p+1,
    0x1.c674560000000p+0,
    0x1.212e9a0000000p-1,
};
inline constexpr double kErfcxDivisorBits11[] = {
    0x1.2049500000000p+1,
    0x1.146aca0000000p+2,
    0x1.95a3b20000000p+1,
    0x1.0000000000000p+0,
};

}  // namespace isthmus::codegen
