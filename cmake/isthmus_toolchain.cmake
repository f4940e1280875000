# Finds LLVM, MLIR and the other libraries, and sets the flags that every target shares.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

find_package(Threads REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)

# The MLIR targets name the shared libLLVM in their link interface. The plugin links everything
# statically, so the static LLVM components it needs take its place.
llvm_map_components_to_libnames(ISTHMUS_LLVM_LIBS
  core support irreader asmparser orcjit jitlink passes linker native SPIRV NVPTX bitwriter bitreader)
get_property(isthmus_mlir_libs GLOBAL PROPERTY MLIR_ALL_LIBS)
foreach(lib ${isthmus_mlir_libs})
  if(TARGET ${lib})
    get_target_property(interface ${lib} INTERFACE_LINK_LIBRARIES)
    if(interface)
      list(REMOVE_ITEM interface LLVM)
      set_target_properties(${lib} PROPERTIES INTERFACE_LINK_LIBRARIES
        "${interface};${ISTHMUS_LLVM_LIBS}")
    endif()
  endif()
endforeach()

# LLVM's archives name the shared zstd too, which manylinux does not promise.
if(TARGET zstd::libzstd_shared AND zstd_STATIC_LIBRARY)
  set_target_properties(zstd::libzstd_shared PROPERTIES IMPORTED_LOCATION ${zstd_STATIC_LIBRARY})
endif()

set(ISTHMUS_MLIR_LIBS
  MLIRIR MLIRParser MLIRBytecodeReader MLIRBytecodeWriter MLIRFuncDialect MLIRQuantDialect
  MLIRFuncInlinerExtension MLIRTransforms MLIRTransformUtils MLIRPass)

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
add_compile_options($<$<CONFIG:Release>:-O2>)
# What ccache keeps does not hang on when the precompiled headers were made (see dev.d/lib.sh).
add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
# Empty sections go at link time: most of LLVM is never reached.
add_compile_options(-ffunction-sections -fdata-sections)

foreach(sanitizer ${ISTHMUS_SANITIZE})
  add_compile_options(-fsanitize=${sanitizer} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizer})
endforeach()
if("undefined" IN_LIST ISTHMUS_SANITIZE)
  # Compiled programs carry no type before their functions, and LLVM's classes have no RTTI.
  add_compile_options(-fno-sanitize=function,vptr)
endif()
