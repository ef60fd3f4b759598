# Compiles a mark into the library of a back end, by which svc recognizes an own build of its release (src/backends/own-build.ts).
# build.sh passes this file as CMAKE_PROJECT_ggml_INCLUDE, in place of kernels.cmake, which it includes: our hooks in ggml need it.
# SVC_BACKEND: name of the back end. SVC_MARK: C source of the mark.

include("${CMAKE_CURRENT_LIST_DIR}/../../ffi/kernels/kernels.cmake")

function(svc_add_mark)
    target_sources("ggml-${SVC_BACKEND}" PRIVATE "${SVC_MARK}")
endfunction()

cmake_language(DEFER CALL svc_add_mark)
