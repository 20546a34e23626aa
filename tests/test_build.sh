#!/bin/sh
# test_build.sh - the Makefile and .configure on machines we do not have.
#
# A copy of both builds a few stand-in sources, with a PATH that holds a C compiler, make and the
# usual small tools, and with an nvcc that is a script: absent, refusing, or listing what we like.
# Nothing outside a temporary folder is touched; neither nvcc nor a GPU is needed.

unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES BUILD DESTDIR PREFIX V WERROR
unset CPPFLAGS CFLAGS LDFLAGS CUDA NVCC CUDA_HOME CUDA_ARCHS CUDAHOSTCXX NVCCFLAGS NVCC_CCBIN
unset NCCL NCCL_HOME NVTX

source=$(pwd)
top=$(mktemp -d) || exit 1
trap 'rm -rf "$top"' EXIT
passed=0
failed=0

# ---- the machine: $top/bin is its PATH, $top/cuda its CUDA toolkit, $top/tree the sources ------

mkdir -p "$top/bin" "$top/cuda/bin" "$top/cuda/include" "$top/cuda/lib" "$top/tree"
# Path of a program, also where the shell has one built in ("command -v echo" is "echo").
where() { (IFS=:; for f in $PATH; do [ -x "$f/$1" ] && echo "$f/$1" && break; done); }
for tool in sh env as ld ar sed tr sort grep head tail echo cat ls cp mv rm mkdir mktemp \
    touch chmod install od; do
    path=$(where $tool)
    [ -z "$path" ] || ln -s "$path" "$top/bin/$tool"
done
ln -s "$(command -v "${MAKE:-make}")" "$top/bin/make"
cc=${CC:-cc}
ln -s "$(command -v "${cc%% *}")" "$top/bin/cc"
unset CC MAKE
real_path=$PATH
PATH=$top/bin
export PATH

cd "$top/tree" || exit 1
mkdir common ring overlap tests docs
cp "$source/Makefile" "$source/tests/check_library.sh" "$source"/common/built.[ch] .
mv built.[ch] common
mv check_library.sh tests
cp "$source/ring/page.h" ring
echo '<!doctype html>' >ring/page.html
# A toolkit that this machine really has must not be found.
sed 's#/usr/local/cuda#/nonexistent/cuda#; s#/usr/include#/nonexistent/include#' "$source/.configure" >.configure
echo '# ring_demo' >README.md
echo 'a tour' >docs/tour.md
echo '.TH RING_DEMO 1' >docs/ring_demo.1
cat >common/device.h <<'END'
#define BACKENDS 1
END
cat >common/device.c <<'END'
#include "common/device.h"
#ifdef HAVE_CUDA
void device_cuda(void);
int device_count(void) { device_cuda(); return BACKENDS + 1; }
#else
int device_count(void) { return BACKENDS; }
#endif
END
echo 'void kernels(void); void device_cuda(void); void device_cuda(void) { kernels(); }' \
    >common/device_cuda.c
echo 'kernels' >common/kernels.cu
echo 'extern int no_kernels;' >ring/kernel_none.c
cat >ring/ring_demo.c <<'END'
#include <stdio.h>
#include "common/built.h"
int device_count(void);
int main(void)
{
    int n;
    const struct built *row = built_features(&n);
    for (int i = 0; i < n; i++)
        printf("%s %d %s\n", row[i].name, row[i].present, row[i].detail);
    printf("backends %d\n", device_count());
    return 0;
}
END

cat >"$top/cuda/bin/nvcc" <<END
#!/bin/sh
cuda='$top/cuda'
END
cat >>"$top/cuda/bin/nvcc" <<'END'
echo "$*" >>"$cuda/log"
case "$*" in
--version) echo "Cuda compilation tools, release 12.9, V12.9.41"; exit ;;
--list-gpu-arch) cat "$cuda/archs"; exit ;;
*--dryrun*)
    echo "#\$ INCLUDES=\"-I$cuda/include\"  "
    echo "#\$ LIBRARIES=  \"-L$cuda/lib/stubs\" \"-L$cuda/lib\""
    exit ;;
esac
if [ -f "$cuda/refuses" ]; then
    echo "#error -- unsupported GNU version! gcc versions later than 14 are not supported!" >&2
    exit 1
fi
for word; do
    [ "$last" != -o ] || object=$word
    [ "$last" != -c ] || code=$word
    last=$word
done
name=kernels
grep -q main "$code" && name=main
echo "int $name(void); int $name(void) { return 0; }" | cc -x c -c - -o "$object"
END
chmod +x "$top/cuda/bin/nvcc"
for arch in 50 52 60 61 70 75 80 86 87 89 90 100 110 103 120 121; do
    echo compute_$arch
done >"$top/cuda/archs"
echo 'int cudart(void); int cudart(void) { return 0; }' | cc -x c -c - -o "$top/cudart.o"
ar rc "$top/cuda/lib/libcudart_static.a" "$top/cudart.o"
printf '#define NCCL_MAJOR 2\n#define NCCL_MINOR 28\n#define NCCL_PATCH 9\n' >"$top/nccl.h"

# ---- what a test says ---------------------------------------------------------------------------

run() { # run COMMAND..: output to $top/out, exit status to $rc
    "$@" >"$top/out" 2>&1
    rc=$?
}

fresh() { # a tree never built, an nvcc that accepts everything
    rm -rf build ring_demo "$top/cuda/refuses" "$top/cuda/include/nccl.h" \
        "$top/cuda/include/nvtx3" "$top/cuda/log"
}

says() { grep -qF -e "$1" "$top/out"; }
logged() { grep -qF -e "$1" "$top/cuda/log"; }
lines() { [ "$(grep -c '' "$top/out")" = "$1" ]; }

# check NAME CONDITION..: each condition is a command line; all must hold
check() {
    name=$1
    shift
    for condition; do
        if ! eval "$condition"; then
            echo "FAILED $name: $condition"
            sed 's/^/    | /' "$top/out"
            failed=$((failed + 1))
            return
        fi
    done
    echo "ok $name"
    passed=$((passed + 1))
}

# ---- without nvcc -------------------------------------------------------------------------------

fresh
run make
check "no nvcc: host only, and it says so" '[ $rc = 0 ]' \
    'says "CUDA backend: off (nvcc not found)"' 'says "NCCL: off (it needs the CUDA backend)"' \
    'says "NVTX: off (it needs the CUDA backend)"' '[ -x ring_demo ]'
run ./ring_demo
check "no nvcc: the binary knows" 'says "cuda 0 nvcc not found"' 'says "nccl 0 "' \
    'says "nvtx 0 "' 'says "backends 1"'

fresh
run make CUDA=1
check "no nvcc, CUDA=1: one line, nothing built" '[ $rc != 0 ]' 'lines 1' \
    'says "CUDA=1, but nvcc not found"' '[ ! -e build/common ]'
run make CUDA=perhaps
check "CUDA=perhaps is refused" '[ $rc != 0 ]' 'lines 1' 'says "it is auto, 0 or 1"'
run make CUDA=1 CUDA_HOME=/nowhere
check "a wrong CUDA_HOME is named" '[ $rc != 0 ]' 'lines 1' 'says "CUDA_HOME=/nowhere"'
run make CC=no-such-compiler
check "a wrong CC is named" '[ $rc != 0 ]' 'lines 1' 'says "CC=no-such-compiler"'

for setting in NCCL=2 NVTX=2; do
    run make $setting
    check "$setting is refused" '[ $rc != 0 ]' 'lines 1' 'says "$setting: it is 0, or not set"'
done
run make BUILD='b 2'
check "a blank in BUILD is refused, and nothing made" '[ $rc != 0 ]' 'lines 1' \
    'says "BUILD=b 2: one folder is wanted"' '[ ! -e b ]' '[ ! -e 2 ]' '[ ! -e "b 2" ]'

# ---- what is rebuilt when -----------------------------------------------------------------------

fresh
run make
run make
check "a second make builds nothing" '[ $rc = 0 ]' 'lines 4' '! says "  cc "'
echo '#define BACKENDS 5' >common/device.h
run make
check "a changed header rebuilds who includes it" 'says "cc    common/device.c"' \
    '! says "cc    common/built.c"' '! says "cc    ring/ring_demo.c"'
echo '#define BACKENDS 1' >common/device.h
run make CFLAGS='-O1 -DGREETING="a b"'
check "other flags rebuild everything" 'says "cc    common/device.c"' 'says "cc    common/built.c"'
run make CFLAGS='-O1 -DGREETING="a b"'
check "the same flags rebuild nothing" '! says "  cc "'
run make BUILD=build/other
check "BUILD= holds its own binary" '[ $rc = 0 ]' '[ -x build/other/ring_demo ]' \
    '! says "link  ring_demo"'
echo 'static int unused;' >ring/warned.c
run make BUILD=build/strict WERROR=1
check "WERROR=1 turns warnings into errors" '[ $rc != 0 ]' 'says "unused"'
run make
check "without WERROR they are warnings" '[ $rc = 0 ]' 'says "unused"'
rm ring/warned.c

if [ "$(PATH=$real_path uname)" = Linux ]; then # where CUDA is

# ---- with nvcc ----------------------------------------------------------------------------------

fresh
run make
PATH=$top/cuda/bin:$PATH
NCCL_HOME=$top/cuda # and no other: this machine may have its own in /usr/include
export NCCL_HOME
run make
check "an nvcc that turns up is noticed" '[ $rc = 0 ]' 'says "nvcc  common/kernels.cu"' \
    'says "CUDA backend: on (nvcc 12.9, sm_60 .. sm_120)"' \
    'says "NCCL: not found (only needed to compare with it)"'
check "one architecture per family, and PTX of the newest" \
    'logged code=sm_60' 'logged code=sm_70' 'logged code=sm_80' 'logged code=sm_90' \
    'logged code=sm_100' 'logged code=sm_120' 'logged code=compute_120' \
    '! logged sm_50' '! logged sm_86' '! logged sm_110' '! logged sm_121' \
    '! logged compute_100,code=compute'
check "same bits: no contraction, no flushing" 'logged -fmad=false' 'logged -ftz=false' \
    'logged -ffp-contract=off'
run ./ring_demo
check "the binary knows its toolkit" 'says "cuda 1 12.9, sm_60 .. sm_120"' 'says "backends 2"'
cp "$top/nccl.h" "$top/cuda/include"
run make
check "an nccl.h that turns up is noticed" 'says "NCCL: found 2.28.9"'
unset NCCL_HOME
run make NCCL=0
check "NCCL=0" 'says "NCCL: off (NCCL=0)"'
run make
check "no nvtx3: told what it would be for" 'says "NVTX: not found (only needed to see steps"'
mkdir "$top/cuda/include/nvtx3"
printf '#if !defined(NVTX_VERSION)\n#define NVTX_VERSION 3\n#endif\n' \
    >"$top/cuda/include/nvtx3/nvToolsExt.h"
run make
check "an nvtx3 that turns up is noticed" 'says "NVTX: found 3"' 'says "cc    common/built.c"'
run ./ring_demo
check "the binary knows its NVTX" 'says "nvtx 1 3"'
run make NVTX=0
check "NVTX=0" 'says "NVTX: off (NVTX=0)"'
run make CUDA=0
check "CUDA=0" '[ $rc = 0 ]' 'says "CUDA backend: off (CUDA=0)"' '! says "nvcc  "'

fresh
run make CUDA_ARCHS="sm_90,80"
check "CUDA_ARCHS chooses" '[ $rc = 0 ]' 'says "sm_80 .. sm_90"' 'logged code=sm_90' \
    'logged code=compute_90' '! logged sm_120'
run make CUDA_ARCHS="35 90"
check "an unknown architecture: one line with the known ones" '[ $rc != 0 ]' 'lines 1' \
    "says \"does not know '35'\"" 'says "50 52 60 61 70 75 80 86 87 89 90 100 103 110 120 121"'

fresh
touch "$top/cuda/refuses"
run make
check "nvcc refuses the host compiler: host only, and why" '[ $rc = 0 ]' '[ -x ring_demo ]' \
    'says "CUDA backend: off (nvcc 12.9 does not work with the host compiler"' \
    'says "make CUDAHOSTCXX=g++-12"' 'grep -q "unsupported GNU" build/config.log'
run make CUDA=1
check "the same with CUDA=1: one line with both versions" '[ $rc != 0 ]' 'lines 1' \
    'says "CUDA=1, but nvcc 12.9 does not work with the host compiler gcc"'
run make CUDAHOSTCXX=g++-12
check "CUDAHOSTCXX reaches nvcc" 'logged "-ccbin g++-12"' '! logged allow-unsupported'

fresh
mv "$top/cuda/lib" "$top/cuda/away"
run make
check "no static runtime: host only, and why" '[ $rc = 0 ]' \
    'says "CUDA backend: off (the static runtime of nvcc 12.9 does not link"'
mv "$top/cuda/away" "$top/cuda/lib"

fresh
run make
PATH=$top/bin
run make install DESTDIR="$top/image"
check "install, even by a user without nvcc, installs what was built" '[ $rc = 0 ]' \
    '! says "  cc "' '"$top/image/usr/local/bin/ring_demo" | grep -q "cuda 1"'
run make install DESTDIR="$top/image" CUDA=1
check "install does not overlook what is asked for" '[ $rc != 0 ]' 'lines 1' 'says "CUDA=1, but"'
run make uninstall DESTDIR="$top/image"

fi

# ---- install ------------------------------------------------------------------------------------

fresh
run make install DESTDIR="$top/image" PREFIX=/opt/demo
check "install" '[ $rc = 0 ]' '[ -x "$top/image/opt/demo/bin/ring_demo" ]' \
    '[ -f "$top/image/opt/demo/share/doc/ring_demo/docs/tour.md" ]' \
    '[ -f "$top/image/opt/demo/share/doc/ring_demo/README.md" ]' \
    '[ -f "$top/image/opt/demo/share/man/man1/ring_demo.1" ]'
run make uninstall DESTDIR="$top/image" PREFIX=/opt/demo
PATH=$real_path find "$top/image" -type f >"$top/out"
check "uninstall leaves nothing" '[ $rc = 0 ]' 'lines 0' \
    '[ ! -e "$top/image/opt/demo/share/doc/ring_demo" ]'
run make clean
check "clean" '[ $rc = 0 ]' '[ ! -e build ]' '[ ! -e ring_demo ]'

fresh
run make install DESTDIR="$top/it's" PREFIX="/a b"
image="$top/it's/a b"
check "install to a folder with an apostrophe and a blank" '[ $rc = 0 ]' \
    '[ -x "$image/bin/ring_demo" ]' '[ -f "$image/share/doc/ring_demo/README.md" ]'
run make uninstall DESTDIR="$top/it's" PREFIX="/a b"
PATH=$real_path find "$top/it's" ! -type d >"$top/out"
check "uninstall from there" '[ $rc = 0 ]' 'lines 0'

# The real documents, with the real files that they lead to.
dead_links() { # FOLDER: the relative links of its documents that lead to nothing
    PATH=$real_path
    find "$1" -name '*.md' | while IFS= read -r page; do
        grep -oE '\]\([^)#: ]+[)#]' "$page" | sed 's/^](//; s/.$//' | while IFS= read -r link; do
            [ -e "${page%/*}/$link" ] || echo "$page: $link"
        done
    done
    PATH=$top/bin
}
mkdir "$top/real"
for f in README.md LICENSE Makefile docs ring common overlap tests .configure; do
    cp -R "$source/$f" "$top/real"
done
(cd "$top/real" && PATH=$real_path && make -o all install DESTDIR="$top/image" CUDA=0 \
    PROGRAM=LICENSE) >"$top/out" 2>&1
rc=$?
check "install of the real documents" '[ $rc = 0 ]' \
    '[ -f "$top/image/usr/local/share/doc/ring_demo/docs/tour.md" ]'
dead_links "$top/image" >"$top/out"
check "no installed document leads nowhere" 'lines 0'
rm "$top/image/usr/local/share/doc/ring_demo/docs/tour.md"
dead_links "$top/image" >"$top/out"
check "a link that leads nowhere would be found" 'says "README.md: docs/tour.md"'

# ---- Check, the test library: missing here, because its header does not compile -----------------

mkdir "$top/nocheck"
echo '#error missing' >"$top/nocheck/check.h"
nocheck="CPPFLAGS=-I$top/nocheck"
who() { printf '#!/bin/sh\necho %s\n' "$1" >"$top/bin/id"; chmod +x "$top/bin/id"; }

run make "$nocheck"
check "make does without Check" '[ $rc = 0 ]' 'says "Check: not found (\`make test\` installs it)"'
who 0
run make test "$nocheck"
check "no package manager: told what to install" '[ $rc != 0 ]' \
    "says \"install the library 'check'\""
printf '#!/bin/sh\necho "apt-get did $*"\n' >"$top/bin/apt-get"
chmod +x "$top/bin/apt-get"
run make test "$nocheck"
check "root: installed, and verified" '[ $rc != 0 ]' \
    'says "installing it: apt-get install -y check"' \
    'says "apt-get did install -y check"' 'says "Check is still missing"'
who 1000
run make test "$nocheck"
check "not root, no sudo: told what to install" '[ $rc != 0 ]' \
    "says \"install the package 'check'\"" \
    '! says "apt-get did"'
printf '#!/bin/sh\necho "sudo did $*"\n' >"$top/bin/sudo"
chmod +x "$top/bin/sudo"
run make test "$nocheck"
check "not root: sudo is used" 'says "sudo did apt-get install -y check"'

echo "$passed passed, $failed failed"
[ $failed = 0 ]
