# The transport between processes: a library of its own, which only they load.
find_library(ISTHMUS_GLOO gloo REQUIRED)
add_library(isthmus_gloo SHARED collectives/gloo/module.cc collectives/gloo/local_address.cc)
target_include_directories(isthmus_gloo PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(isthmus_gloo PRIVATE ${ISTHMUS_GLOO})
# With RPATH, and not RUNPATH, the libraries that Gloo needs are found beside it too.
target_link_options(isthmus_gloo PRIVATE -Wl,--disable-new-dtags -Wl,--exclude-libs,ALL)
set_target_properties(isthmus_gloo PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/pjrt BUILD_RPATH "\$ORIGIN" INSTALL_RPATH "\$ORIGIN")
install(TARGETS isthmus_gloo LIBRARY DESTINATION isthmus COMPONENT python)

# What the wheel carries with it, under the names that the loader looks for.
set(carried)
foreach(name libgloo.so.0 libhiredis.so.0.14 libibverbs.so.1 libnl-3.so.200 libnl-route-3.so.200)
  find_file(ISTHMUS_CARRIED_${name} ${name} REQUIRED
    PATHS /usr/lib /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /lib/${CMAKE_LIBRARY_ARCHITECTURE})
  mark_as_advanced(ISTHMUS_CARRIED_${name})
  file(REAL_PATH ${ISTHMUS_CARRIED_${name}} library)
  install(FILES ${library} DESTINATION isthmus RENAME ${name} COMPONENT python)
  string(APPEND carried "${library}\n")
endforeach()
file(WRITE ${PROJECT_BINARY_DIR}/carried_libraries.txt ${carried})
