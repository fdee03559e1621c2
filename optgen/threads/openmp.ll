; Made from openmp.c by `python -m optgen.objectcode.generate`, with clang 19.1.7.
; SHA-256 of openmp.c: 3f06fc1c3db51afa92f5c7c340d62579dea6273675d1c1b9d7e31d09393ab53b

%struct.place = type { i32, i32, i32, i32, ptr }
%struct.job = type { ptr, ptr, ptr, i64, i64, [2048 x i8] }
%struct.team = type { ptr, ptr, ptr, ptr, ptr, ptr, ptr, i64, i64, i32 }

@.str = private unnamed_addr constant [23 x i8] c";unknown;unknown;0;0;;\00", align 1
@__const.optgen_team_run.here = private unnamed_addr constant %struct.place { i32 0, i32 2, i32 0, i32 0, ptr @.str }, align 8

define void @optgen_team_run(ptr %0, ptr %1, ptr %2, i64 %3) {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca i64, align 8
  %10 = alloca %struct.job, align 8
  %11 = alloca i64, align 8
  %12 = alloca i8, align 1
  %13 = alloca %struct.place, align 8
  store ptr %0, ptr %5, align 8
  store ptr %1, ptr %6, align 8
  store ptr %2, ptr %7, align 8
  store i64 %3, ptr %8, align 8
  %14 = load ptr, ptr %5, align 8
  %15 = load i64, ptr %8, align 8
  %16 = call i64 @threads_of(ptr %14, i64 %15)
  store i64 %16, ptr %9, align 8
  %17 = load i64, ptr %9, align 8
  %18 = icmp slt i64 %17, 2
  br i1 %18, label %19, label %22

19:
  %20 = load ptr, ptr %6, align 8
  %21 = load ptr, ptr %7, align 8
  call void %20(ptr %21, i64 0, i64 1)
  br label %80

22:
  %23 = load ptr, ptr %5, align 8
  %24 = getelementptr inbounds %struct.job, ptr %10, i32 0, i32 0
  store ptr %23, ptr %24, align 8
  %25 = load ptr, ptr %6, align 8
  %26 = getelementptr inbounds %struct.job, ptr %10, i32 0, i32 1
  store ptr %25, ptr %26, align 8
  %27 = load ptr, ptr %7, align 8
  %28 = getelementptr inbounds %struct.job, ptr %10, i32 0, i32 2
  store ptr %27, ptr %28, align 8
  %29 = load i64, ptr %8, align 8
  %30 = load ptr, ptr %5, align 8
  %31 = getelementptr inbounds %struct.team, ptr %30, i32 0, i32 8
  %32 = load i64, ptr %31, align 8
  %33 = icmp sge i64 %29, %32
  %34 = zext i1 %33 to i64
  %35 = select i1 %33, i32 8, i32 1
  %36 = sext i32 %35 to i64
  %37 = getelementptr inbounds %struct.job, ptr %10, i32 0, i32 4
  store i64 %36, ptr %37, align 8
  %38 = load i64, ptr %9, align 8
  %39 = getelementptr inbounds %struct.job, ptr %10, i32 0, i32 4
  %40 = load i64, ptr %39, align 8
  %41 = mul nsw i64 %38, %40
  %42 = getelementptr inbounds %struct.job, ptr %10, i32 0, i32 3
  store i64 %41, ptr %42, align 8
  store i64 0, ptr %11, align 8
  br label %43

43:
  %44 = load i64, ptr %11, align 8
  %45 = getelementptr inbounds %struct.job, ptr %10, i32 0, i32 3
  %46 = load i64, ptr %45, align 8
  %47 = icmp slt i64 %44, %46
  br i1 %47, label %48, label %56

48:
  %49 = getelementptr inbounds %struct.job, ptr %10, i32 0, i32 5
  %50 = load i64, ptr %11, align 8
  %51 = getelementptr inbounds [2048 x i8], ptr %49, i64 0, i64 %50
  store i8 0, ptr %12, align 1
  %52 = load i8, ptr %12, align 1
  store atomic i8 %52, ptr %51 monotonic, align 1
  br label %53

53:
  %54 = load i64, ptr %11, align 8
  %55 = add nsw i64 %54, 1
  store i64 %55, ptr %11, align 8
  br label %43

56:
  %57 = load ptr, ptr %5, align 8
  %58 = getelementptr inbounds %struct.team, ptr %57, i32 0, i32 0
  %59 = load ptr, ptr %58, align 8
  %60 = icmp ne ptr %59, null
  br i1 %60, label %61, label %67

61:
  %62 = load ptr, ptr %5, align 8
  %63 = getelementptr inbounds %struct.team, ptr %62, i32 0, i32 0
  %64 = load ptr, ptr %63, align 8
  %65 = load i64, ptr %9, align 8
  %66 = trunc i64 %65 to i32
  call void %64(ptr @run_parts, ptr %10, i32 %66, i32 0)
  br label %80

67:
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %13, ptr align 8 @__const.optgen_team_run.here, i64 24, i1 false)
  %68 = load ptr, ptr %5, align 8
  %69 = getelementptr inbounds %struct.team, ptr %68, i32 0, i32 2
  %70 = load ptr, ptr %69, align 8
  %71 = load ptr, ptr %5, align 8
  %72 = getelementptr inbounds %struct.team, ptr %71, i32 0, i32 3
  %73 = load ptr, ptr %72, align 8
  %74 = call i32 %73(ptr %13)
  %75 = load i64, ptr %9, align 8
  %76 = trunc i64 %75 to i32
  call void %70(ptr %13, i32 %74, i32 %76)
  %77 = load ptr, ptr %5, align 8
  %78 = getelementptr inbounds %struct.team, ptr %77, i32 0, i32 1
  %79 = load ptr, ptr %78, align 8
  call void (ptr, i32, ptr, ...) %79(ptr %13, i32 1, ptr @member, ptr %10)
  br label %80

80:
  ret void
}

define internal i64 @threads_of(ptr %0, i64 %1) {
  %3 = alloca i64, align 8
  %4 = alloca ptr, align 8
  %5 = alloca i64, align 8
  %6 = alloca i32, align 4
  %7 = alloca i64, align 8
  store ptr %0, ptr %4, align 8
  store i64 %1, ptr %5, align 8
  %8 = load i64, ptr %5, align 8
  %9 = load ptr, ptr %4, align 8
  %10 = getelementptr inbounds %struct.team, ptr %9, i32 0, i32 7
  %11 = load i64, ptr %10, align 8
  %12 = icmp slt i64 %8, %11
  br i1 %12, label %19, label %13

13:
  %14 = load ptr, ptr %4, align 8
  %15 = getelementptr inbounds %struct.team, ptr %14, i32 0, i32 9
  %16 = load atomic i32, ptr %15 monotonic, align 8
  store i32 %16, ptr %6, align 4
  %17 = load i32, ptr %6, align 4
  %18 = icmp ne i32 %17, 0
  br i1 %18, label %19, label %20

19:
  store i64 1, ptr %3, align 8
  br label %46

20:
  %21 = load ptr, ptr %4, align 8
  %22 = getelementptr inbounds %struct.team, ptr %21, i32 0, i32 6
  %23 = load ptr, ptr %22, align 8
  %24 = load i32, ptr %23, align 4
  %25 = icmp ne i32 %24, 0
  br i1 %25, label %26, label %31

26:
  %27 = load ptr, ptr %4, align 8
  %28 = getelementptr inbounds %struct.team, ptr %27, i32 0, i32 6
  %29 = load ptr, ptr %28, align 8
  %30 = load i32, ptr %29, align 4
  br label %36

31:
  %32 = load ptr, ptr %4, align 8
  %33 = getelementptr inbounds %struct.team, ptr %32, i32 0, i32 5
  %34 = load ptr, ptr %33, align 8
  %35 = call i32 %34()
  br label %36

36:
  %37 = phi i32 [ %30, %26 ], [ %35, %31 ]
  %38 = zext i32 %37 to i64
  store i64 %38, ptr %7, align 8
  %39 = load i64, ptr %7, align 8
  %40 = icmp slt i64 %39, 256
  br i1 %40, label %41, label %43

41:
  %42 = load i64, ptr %7, align 8
  br label %44

43:
  br label %44

44:
  %45 = phi i64 [ %42, %41 ], [ 256, %43 ]
  store i64 %45, ptr %3, align 8
  br label %46

46:
  %47 = load i64, ptr %3, align 8
  ret i64 %47
}

define internal void @run_parts(ptr %0) {
  %2 = alloca ptr, align 8
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca i64, align 8
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  %8 = alloca i8, align 1
  %9 = alloca i8, align 1
  store ptr %0, ptr %2, align 8
  %10 = load ptr, ptr %2, align 8
  store ptr %10, ptr %3, align 8
  %11 = load ptr, ptr %3, align 8
  %12 = getelementptr inbounds %struct.job, ptr %11, i32 0, i32 3
  %13 = load i64, ptr %12, align 8
  store i64 %13, ptr %4, align 8
  %14 = load ptr, ptr %3, align 8
  %15 = getelementptr inbounds %struct.job, ptr %14, i32 0, i32 0
  %16 = load ptr, ptr %15, align 8
  %17 = getelementptr inbounds %struct.team, ptr %16, i32 0, i32 4
  %18 = load ptr, ptr %17, align 8
  %19 = call i32 %18()
  %20 = sext i32 %19 to i64
  %21 = load ptr, ptr %3, align 8
  %22 = getelementptr inbounds %struct.job, ptr %21, i32 0, i32 4
  %23 = load i64, ptr %22, align 8
  %24 = mul nsw i64 %20, %23
  store i64 %24, ptr %5, align 8
  store i64 0, ptr %6, align 8
  br label %25

25:
  %26 = load i64, ptr %6, align 8
  %27 = load i64, ptr %4, align 8
  %28 = icmp slt i64 %26, %27
  br i1 %28, label %29, label %56

29:
  %30 = load i64, ptr %5, align 8
  %31 = load i64, ptr %6, align 8
  %32 = add nsw i64 %30, %31
  %33 = load i64, ptr %4, align 8
  %34 = srem i64 %32, %33
  store i64 %34, ptr %7, align 8
  %35 = load ptr, ptr %3, align 8
  %36 = getelementptr inbounds %struct.job, ptr %35, i32 0, i32 5
  %37 = load i64, ptr %7, align 8
  %38 = getelementptr inbounds [2048 x i8], ptr %36, i64 0, i64 %37
  store i8 1, ptr %8, align 1
  %39 = load i8, ptr %8, align 1
  %40 = atomicrmw xchg ptr %38, i8 %39 monotonic
  store i8 %40, ptr %9, align 1
  %41 = load i8, ptr %9, align 1
  %42 = icmp ne i8 %41, 0
  br i1 %42, label %52, label %43

43:
  %44 = load ptr, ptr %3, align 8
  %45 = getelementptr inbounds %struct.job, ptr %44, i32 0, i32 1
  %46 = load ptr, ptr %45, align 8
  %47 = load ptr, ptr %3, align 8
  %48 = getelementptr inbounds %struct.job, ptr %47, i32 0, i32 2
  %49 = load ptr, ptr %48, align 8
  %50 = load i64, ptr %7, align 8
  %51 = load i64, ptr %4, align 8
  call void %46(ptr %49, i64 %50, i64 %51)
  br label %52

52:
  br label %53

53:
  %54 = load i64, ptr %6, align 8
  %55 = add nsw i64 %54, 1
  store i64 %55, ptr %6, align 8
  br label %25

56:
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr noalias nocapture writeonly, ptr noalias nocapture readonly, i64, i1 immarg)

define internal void @member(ptr %0, ptr %1, ptr %2) {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store ptr %2, ptr %6, align 8
  %7 = load ptr, ptr %4, align 8
  %8 = load ptr, ptr %5, align 8
  %9 = load ptr, ptr %6, align 8
  call void @run_parts(ptr %9)
  ret void
}

define i64 @optgen_team_threads(ptr %0) {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  %4 = call i64 @threads_of(ptr %3, i64 9223372036854775807)
  ret i64 %4
}
