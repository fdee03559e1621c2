; Made from pool.c by `python -m optgen.objectcode.generate`, with clang 19.1.7.
; SHA-256 of pool.c: 47d0d23477aee5dd3c64c28ccdf418f7a2db169ebdf4f13afbee08ceda438251

%struct.pool = type { %struct.line, %struct.line, %struct.line, %struct.line, i32, i32, ptr, ptr, i32, i32, i64, i64, i64, i64, i64, i32, i32, i32, ptr, ptr, ptr, ptr, ptr, ptr, [4096 x i32] }
%struct.line = type { i32, [15 x i32] }
%struct.timespec = type { i64, i64 }

define void @optgen_pool_worker(ptr %0, i32 %1, i32 %2) {
  %4 = alloca ptr, align 8
  %5 = alloca i32, align 4
  %6 = alloca i32, align 4
  %7 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
  store i32 %1, ptr %5, align 4
  store i32 %2, ptr %6, align 4
  br label %8

8:
  %9 = load ptr, ptr %4, align 8
  %10 = load i32, ptr %6, align 4
  %11 = call i32 @next_generation(ptr %9, i32 %10)
  store i32 %11, ptr %6, align 4
  %12 = load ptr, ptr %4, align 8
  %13 = getelementptr inbounds %struct.pool, ptr %12, i32 0, i32 5
  %14 = load atomic i32, ptr %13 seq_cst, align 4
  store i32 %14, ptr %7, align 4
  %15 = load i32, ptr %7, align 4
  %16 = icmp ne i32 %15, 0
  br i1 %16, label %17, label %18

17:
  ret void

18:
  %19 = load ptr, ptr %4, align 8
  %20 = load i32, ptr %5, align 4
  %21 = load i32, ptr %6, align 4
  call void @work(ptr %19, i32 %20, i32 %21)
  br label %8
}

define internal i32 @next_generation(ptr %0, i32 %1) {
  %3 = alloca ptr, align 8
  %4 = alloca i32, align 4
  %5 = alloca i32, align 4
  %6 = alloca i32, align 4
  %7 = alloca i32, align 4
  %8 = alloca i32, align 4
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  %12 = alloca i32, align 4
  store ptr %0, ptr %3, align 8
  store i32 %1, ptr %4, align 4
  %13 = load ptr, ptr %3, align 8
  %14 = getelementptr inbounds %struct.pool, ptr %13, i32 0, i32 9
  %15 = load i32, ptr %14, align 4
  store i32 %15, ptr %5, align 4
  br label %16

16:
  store i32 0, ptr %6, align 4
  br label %17

17:
  %18 = load i32, ptr %6, align 4
  %19 = load i32, ptr %5, align 4
  %20 = icmp ult i32 %18, %19
  br i1 %20, label %21, label %36

21:
  %22 = load ptr, ptr %3, align 8
  %23 = getelementptr inbounds %struct.pool, ptr %22, i32 0, i32 0
  %24 = getelementptr inbounds %struct.line, ptr %23, i32 0, i32 0
  %25 = load atomic i32, ptr %24 seq_cst, align 8
  store i32 %25, ptr %8, align 4
  %26 = load i32, ptr %8, align 4
  store i32 %26, ptr %7, align 4
  %27 = load i32, ptr %7, align 4
  %28 = load i32, ptr %4, align 4
  %29 = icmp ne i32 %27, %28
  br i1 %29, label %30, label %32

30:
  %31 = load i32, ptr %7, align 4
  ret i32 %31

32:
  call void @optgen_spin_hint()
  br label %33

33:
  %34 = load i32, ptr %6, align 4
  %35 = add i32 %34, 1
  store i32 %35, ptr %6, align 4
  br label %17

36:
  %37 = load ptr, ptr %3, align 8
  %38 = getelementptr inbounds %struct.pool, ptr %37, i32 0, i32 2
  %39 = getelementptr inbounds %struct.line, ptr %38, i32 0, i32 0
  store i32 1, ptr %9, align 4
  %40 = load i32, ptr %9, align 4
  %41 = atomicrmw add ptr %39, i32 %40 seq_cst
  store i32 %41, ptr %10, align 4
  %42 = load i32, ptr %10, align 4
  %43 = load ptr, ptr %3, align 8
  %44 = load ptr, ptr %3, align 8
  %45 = getelementptr inbounds %struct.pool, ptr %44, i32 0, i32 0
  %46 = load i32, ptr %4, align 4
  call void @sleep_on(ptr %43, ptr %45, i32 %46)
  %47 = load ptr, ptr %3, align 8
  %48 = getelementptr inbounds %struct.pool, ptr %47, i32 0, i32 2
  %49 = getelementptr inbounds %struct.line, ptr %48, i32 0, i32 0
  store i32 1, ptr %11, align 4
  %50 = load i32, ptr %11, align 4
  %51 = atomicrmw sub ptr %49, i32 %50 seq_cst
  store i32 %51, ptr %12, align 4
  %52 = load i32, ptr %12, align 4
  br label %16
}

define internal void @work(ptr %0, i32 %1, i32 %2) {
  %4 = alloca ptr, align 8
  %5 = alloca i32, align 4
  %6 = alloca i32, align 4
  %7 = alloca i64, align 8
  %8 = alloca i64, align 8
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  %12 = alloca i32, align 4
  %13 = alloca i32, align 4
  %14 = alloca ptr, align 8
  %15 = alloca i32, align 4
  %16 = alloca i32, align 4
  %17 = alloca i32, align 4
  %18 = alloca i8, align 1
  %19 = alloca ptr, align 8
  %20 = alloca ptr, align 8
  %21 = alloca ptr, align 8
  %22 = alloca i32, align 4
  %23 = alloca i32, align 4
  %24 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
  store i32 %1, ptr %5, align 4
  store i32 %2, ptr %6, align 4
  %25 = load ptr, ptr %4, align 8
  %26 = getelementptr inbounds %struct.pool, ptr %25, i32 0, i32 13
  %27 = load atomic i64, ptr %26 monotonic, align 8
  store i64 %27, ptr %8, align 8
  %28 = load i64, ptr %8, align 8
  store i64 %28, ptr %7, align 8
  %29 = load i64, ptr %7, align 8
  %30 = trunc i64 %29 to i32
  store i32 %30, ptr %9, align 4
  %31 = load i32, ptr %5, align 4
  %32 = load ptr, ptr %4, align 8
  %33 = getelementptr inbounds %struct.pool, ptr %32, i32 0, i32 8
  %34 = load atomic i32, ptr %33 monotonic, align 8
  store i32 %34, ptr %11, align 4
  %35 = load i32, ptr %11, align 4
  %36 = mul i32 %31, %35
  store i32 %36, ptr %10, align 4
  store i32 0, ptr %12, align 4
  br label %37

37:
  %38 = load i32, ptr %12, align 4
  %39 = load i32, ptr %9, align 4
  %40 = icmp ult i32 %38, %39
  br i1 %40, label %41, label %105

41:
  %42 = load i32, ptr %10, align 4
  %43 = load i32, ptr %12, align 4
  %44 = add i32 %42, %43
  %45 = load i32, ptr %9, align 4
  %46 = urem i32 %44, %45
  store i32 %46, ptr %13, align 4
  %47 = load ptr, ptr %4, align 8
  %48 = getelementptr inbounds %struct.pool, ptr %47, i32 0, i32 24
  %49 = load i32, ptr %13, align 4
  %50 = zext i32 %49 to i64
  %51 = getelementptr inbounds [4096 x i32], ptr %48, i64 0, i64 %50
  store ptr %51, ptr %14, align 8
  %52 = load i32, ptr %6, align 4
  store i32 %52, ptr %15, align 4
  %53 = load ptr, ptr %14, align 8
  %54 = load atomic i32, ptr %53 monotonic, align 4
  store i32 %54, ptr %16, align 4
  %55 = load i32, ptr %16, align 4
  %56 = load i32, ptr %6, align 4
  %57 = icmp ne i32 %55, %56
  br i1 %57, label %70, label %58

58:
  %59 = load ptr, ptr %14, align 8
  store i32 0, ptr %17, align 4
  %60 = load i32, ptr %15, align 4
  %61 = load i32, ptr %17, align 4
  %62 = cmpxchg ptr %59, i32 %60, i32 %61 seq_cst seq_cst
  %63 = extractvalue { i32, i1 } %62, 0
  %64 = extractvalue { i32, i1 } %62, 1
  br i1 %64, label %66, label %65

65:
  store i32 %63, ptr %15, align 4
  br label %66

66:
  %67 = zext i1 %64 to i8
  store i8 %67, ptr %18, align 1
  %68 = load i8, ptr %18, align 1
  %69 = trunc i8 %68 to i1
  br i1 %69, label %71, label %70

70:
  br label %102

71:
  %72 = load ptr, ptr %4, align 8
  %73 = getelementptr inbounds %struct.pool, ptr %72, i32 0, i32 6
  %74 = load atomic i64, ptr %73 monotonic, align 8
  store i64 %74, ptr %20, align 8
  %75 = load ptr, ptr %20, align 8
  store ptr %75, ptr %19, align 8
  %76 = load ptr, ptr %19, align 8
  %77 = load ptr, ptr %4, align 8
  %78 = getelementptr inbounds %struct.pool, ptr %77, i32 0, i32 7
  %79 = load atomic i64, ptr %78 monotonic, align 8
  store i64 %79, ptr %21, align 8
  %80 = load ptr, ptr %21, align 8
  %81 = load i32, ptr %13, align 4
  %82 = zext i32 %81 to i64
  %83 = load i64, ptr %7, align 8
  call void %76(ptr %80, i64 %82, i64 %83)
  %84 = load ptr, ptr %4, align 8
  %85 = getelementptr inbounds %struct.pool, ptr %84, i32 0, i32 1
  %86 = getelementptr inbounds %struct.line, ptr %85, i32 0, i32 0
  store i32 1, ptr %22, align 4
  %87 = load i32, ptr %22, align 4
  %88 = atomicrmw sub ptr %86, i32 %87 seq_cst
  store i32 %88, ptr %23, align 4
  %89 = load i32, ptr %23, align 4
  %90 = icmp eq i32 %89, 1
  br i1 %90, label %91, label %101

91:
  %92 = load ptr, ptr %4, align 8
  %93 = getelementptr inbounds %struct.pool, ptr %92, i32 0, i32 15
  %94 = load atomic i32, ptr %93 seq_cst, align 8
  store i32 %94, ptr %24, align 4
  %95 = load i32, ptr %24, align 4
  %96 = icmp ne i32 %95, 0
  br i1 %96, label %97, label %101

97:
  %98 = load ptr, ptr %4, align 8
  %99 = load ptr, ptr %4, align 8
  %100 = getelementptr inbounds %struct.pool, ptr %99, i32 0, i32 1
  call void @wake(ptr %98, ptr %100, i32 1)
  br label %101

101:
  br label %102

102:
  %103 = load i32, ptr %12, align 4
  %104 = add i32 %103, 1
  store i32 %104, ptr %12, align 4
  br label %37

105:
  ret void
}

define void @optgen_pool_run(ptr %0, ptr %1, ptr %2, i64 %3) {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  %12 = alloca i32, align 4
  %13 = alloca i8, align 1
  %14 = alloca i32, align 4
  %15 = alloca i32, align 4
  %16 = alloca i32, align 4
  %17 = alloca i64, align 8
  store ptr %0, ptr %5, align 8
  store ptr %1, ptr %6, align 8
  store ptr %2, ptr %7, align 8
  store i64 %3, ptr %8, align 8
  %18 = load ptr, ptr %5, align 8
  %19 = getelementptr inbounds %struct.pool, ptr %18, i32 0, i32 4
  %20 = load atomic i32, ptr %19 monotonic, align 8
  store i32 %20, ptr %10, align 4
  %21 = load i32, ptr %10, align 4
  store i32 %21, ptr %9, align 4
  %22 = load i32, ptr %9, align 4
  %23 = icmp ult i32 %22, 2
  br i1 %23, label %30, label %24

24:
  %25 = load i64, ptr %8, align 8
  %26 = load ptr, ptr %5, align 8
  %27 = getelementptr inbounds %struct.pool, ptr %26, i32 0, i32 10
  %28 = load i64, ptr %27, align 8
  %29 = icmp slt i64 %25, %28
  br i1 %29, label %30, label %33

30:
  %31 = load ptr, ptr %6, align 8
  %32 = load ptr, ptr %7, align 8
  call void %31(ptr %32, i64 0, i64 1)
  br label %82

33:
  store i32 0, ptr %11, align 4
  %34 = load ptr, ptr %5, align 8
  %35 = load i64, ptr %8, align 8
  %36 = call i32 @is_worth_waking(ptr %34, i64 %35)
  %37 = icmp ne i32 %36, 0
  br i1 %37, label %38, label %71

38:
  %39 = load ptr, ptr %5, align 8
  %40 = getelementptr inbounds %struct.pool, ptr %39, i32 0, i32 3
  %41 = getelementptr inbounds %struct.line, ptr %40, i32 0, i32 0
  store i32 1, ptr %12, align 4
  %42 = load i32, ptr %11, align 4
  %43 = load i32, ptr %12, align 4
  %44 = cmpxchg ptr %41, i32 %42, i32 %43 seq_cst seq_cst
  %45 = extractvalue { i32, i1 } %44, 0
  %46 = extractvalue { i32, i1 } %44, 1
  br i1 %46, label %48, label %47

47:
  store i32 %45, ptr %11, align 4
  br label %48

48:
  %49 = zext i1 %46 to i8
  store i8 %49, ptr %13, align 1
  %50 = load i8, ptr %13, align 1
  %51 = trunc i8 %50 to i1
  br i1 %51, label %52, label %71

52:
  %53 = load ptr, ptr %5, align 8
  %54 = load ptr, ptr %6, align 8
  %55 = load ptr, ptr %7, align 8
  %56 = load i32, ptr %9, align 4
  %57 = load ptr, ptr %5, align 8
  %58 = load i64, ptr %8, align 8
  %59 = call i32 @parts_each(ptr %57, i64 %58)
  %60 = call i32 @publish(ptr %53, ptr %54, ptr %55, i32 %56, i32 %59)
  store i32 %60, ptr %14, align 4
  %61 = load ptr, ptr %5, align 8
  %62 = load i32, ptr %14, align 4
  call void @work(ptr %61, i32 0, i32 %62)
  %63 = load ptr, ptr %5, align 8
  call void @finish(ptr %63)
  %64 = load ptr, ptr %5, align 8
  %65 = getelementptr inbounds %struct.pool, ptr %64, i32 0, i32 15
  store i32 0, ptr %15, align 4
  %66 = load i32, ptr %15, align 4
  store atomic i32 %66, ptr %65 monotonic, align 8
  %67 = load ptr, ptr %5, align 8
  %68 = getelementptr inbounds %struct.pool, ptr %67, i32 0, i32 3
  %69 = getelementptr inbounds %struct.line, ptr %68, i32 0, i32 0
  store i32 0, ptr %16, align 4
  %70 = load i32, ptr %16, align 4
  store atomic i32 %70, ptr %69 seq_cst, align 8
  br label %74

71:
  %72 = load ptr, ptr %6, align 8
  %73 = load ptr, ptr %7, align 8
  call void %72(ptr %73, i64 0, i64 1)
  br label %74

74:
  %75 = load ptr, ptr %5, align 8
  %76 = getelementptr inbounds %struct.pool, ptr %75, i32 0, i32 14
  %77 = load ptr, ptr %5, align 8
  %78 = getelementptr inbounds %struct.pool, ptr %77, i32 0, i32 17
  %79 = load i32, ptr %78, align 8
  %80 = call i64 @now(i32 %79)
  store i64 %80, ptr %17, align 8
  %81 = load i64, ptr %17, align 8
  store atomic i64 %81, ptr %76 monotonic, align 8
  br label %82

82:
  ret void
}

define internal i32 @is_worth_waking(ptr %0, i64 %1) {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca i32, align 4
  %6 = alloca i64, align 8
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  %7 = load ptr, ptr %3, align 8
  %8 = getelementptr inbounds %struct.pool, ptr %7, i32 0, i32 2
  %9 = getelementptr inbounds %struct.line, ptr %8, i32 0, i32 0
  %10 = load atomic i32, ptr %9 seq_cst, align 8
  store i32 %10, ptr %5, align 4
  %11 = load i32, ptr %5, align 4
  %12 = icmp eq i32 %11, 0
  br i1 %12, label %30, label %13

13:
  %14 = load i64, ptr %4, align 8
  %15 = load ptr, ptr %3, align 8
  %16 = getelementptr inbounds %struct.pool, ptr %15, i32 0, i32 11
  %17 = load i64, ptr %16, align 8
  %18 = icmp sge i64 %14, %17
  br i1 %18, label %30, label %19

19:
  %20 = load ptr, ptr %3, align 8
  %21 = getelementptr inbounds %struct.pool, ptr %20, i32 0, i32 17
  %22 = load i32, ptr %21, align 8
  %23 = call i64 @now(i32 %22)
  %24 = load ptr, ptr %3, align 8
  %25 = getelementptr inbounds %struct.pool, ptr %24, i32 0, i32 14
  %26 = load atomic i64, ptr %25 monotonic, align 8
  store i64 %26, ptr %6, align 8
  %27 = load i64, ptr %6, align 8
  %28 = sub nsw i64 %23, %27
  %29 = icmp sle i64 %28, 100000
  br label %30

30:
  %31 = phi i1 [ true, %13 ], [ true, %2 ], [ %29, %19 ]
  %32 = zext i1 %31 to i32
  ret i32 %32
}

define internal i32 @publish(ptr %0, ptr %1, ptr %2, i32 %3, i32 %4) {
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca i32, align 4
  %10 = alloca i32, align 4
  %11 = alloca i32, align 4
  %12 = alloca i32, align 4
  %13 = alloca i32, align 4
  %14 = alloca ptr, align 8
  %15 = alloca ptr, align 8
  %16 = alloca i32, align 4
  %17 = alloca i64, align 8
  %18 = alloca i32, align 4
  %19 = alloca i32, align 4
  %20 = alloca i32, align 4
  %21 = alloca i32, align 4
  %22 = alloca i32, align 4
  store ptr %0, ptr %6, align 8
  store ptr %1, ptr %7, align 8
  store ptr %2, ptr %8, align 8
  store i32 %3, ptr %9, align 4
  store i32 %4, ptr %10, align 4
  %23 = load i32, ptr %9, align 4
  %24 = load i32, ptr %10, align 4
  %25 = mul i32 %23, %24
  store i32 %25, ptr %11, align 4
  %26 = load ptr, ptr %6, align 8
  %27 = getelementptr inbounds %struct.pool, ptr %26, i32 0, i32 0
  %28 = getelementptr inbounds %struct.line, ptr %27, i32 0, i32 0
  %29 = load atomic i32, ptr %28 monotonic, align 8
  store i32 %29, ptr %13, align 4
  %30 = load i32, ptr %13, align 4
  %31 = add i32 %30, 1
  store i32 %31, ptr %12, align 4
  %32 = load i32, ptr %12, align 4
  %33 = icmp eq i32 %32, 0
  br i1 %33, label %34, label %35

34:
  store i32 1, ptr %12, align 4
  br label %35

35:
  %36 = load ptr, ptr %6, align 8
  %37 = getelementptr inbounds %struct.pool, ptr %36, i32 0, i32 6
  %38 = load ptr, ptr %7, align 8
  store ptr %38, ptr %14, align 8
  %39 = load i64, ptr %14, align 8
  store atomic i64 %39, ptr %37 monotonic, align 8
  %40 = load ptr, ptr %6, align 8
  %41 = getelementptr inbounds %struct.pool, ptr %40, i32 0, i32 7
  %42 = load ptr, ptr %8, align 8
  store ptr %42, ptr %15, align 8
  %43 = load i64, ptr %15, align 8
  store atomic i64 %43, ptr %41 monotonic, align 8
  %44 = load ptr, ptr %6, align 8
  %45 = getelementptr inbounds %struct.pool, ptr %44, i32 0, i32 8
  %46 = load i32, ptr %10, align 4
  store i32 %46, ptr %16, align 4
  %47 = load i32, ptr %16, align 4
  store atomic i32 %47, ptr %45 monotonic, align 8
  %48 = load ptr, ptr %6, align 8
  %49 = getelementptr inbounds %struct.pool, ptr %48, i32 0, i32 13
  %50 = load i32, ptr %11, align 4
  %51 = zext i32 %50 to i64
  store i64 %51, ptr %17, align 8
  %52 = load i64, ptr %17, align 8
  store atomic i64 %52, ptr %49 monotonic, align 8
  %53 = load ptr, ptr %6, align 8
  %54 = getelementptr inbounds %struct.pool, ptr %53, i32 0, i32 1
  %55 = getelementptr inbounds %struct.line, ptr %54, i32 0, i32 0
  %56 = load i32, ptr %11, align 4
  store i32 %56, ptr %18, align 4
  %57 = load i32, ptr %18, align 4
  store atomic i32 %57, ptr %55 monotonic, align 8
  store i32 0, ptr %19, align 4
  br label %58

58:
  %59 = load i32, ptr %19, align 4
  %60 = load i32, ptr %11, align 4
  %61 = icmp ult i32 %59, %60
  br i1 %61, label %62, label %73

62:
  %63 = load ptr, ptr %6, align 8
  %64 = getelementptr inbounds %struct.pool, ptr %63, i32 0, i32 24
  %65 = load i32, ptr %19, align 4
  %66 = zext i32 %65 to i64
  %67 = getelementptr inbounds [4096 x i32], ptr %64, i64 0, i64 %66
  %68 = load i32, ptr %12, align 4
  store i32 %68, ptr %20, align 4
  %69 = load i32, ptr %20, align 4
  store atomic i32 %69, ptr %67 release, align 4
  br label %70

70:
  %71 = load i32, ptr %19, align 4
  %72 = add i32 %71, 1
  store i32 %72, ptr %19, align 4
  br label %58

73:
  %74 = load ptr, ptr %6, align 8
  %75 = getelementptr inbounds %struct.pool, ptr %74, i32 0, i32 0
  %76 = getelementptr inbounds %struct.line, ptr %75, i32 0, i32 0
  %77 = load i32, ptr %12, align 4
  store i32 %77, ptr %21, align 4
  %78 = load i32, ptr %21, align 4
  store atomic i32 %78, ptr %76 seq_cst, align 8
  %79 = load ptr, ptr %6, align 8
  %80 = getelementptr inbounds %struct.pool, ptr %79, i32 0, i32 2
  %81 = getelementptr inbounds %struct.line, ptr %80, i32 0, i32 0
  %82 = load atomic i32, ptr %81 seq_cst, align 8
  store i32 %82, ptr %22, align 4
  %83 = load i32, ptr %22, align 4
  %84 = icmp ne i32 %83, 0
  br i1 %84, label %85, label %89

85:
  %86 = load ptr, ptr %6, align 8
  %87 = load ptr, ptr %6, align 8
  %88 = getelementptr inbounds %struct.pool, ptr %87, i32 0, i32 0
  call void @wake(ptr %86, ptr %88, i32 2147483647)
  br label %89

89:
  %90 = load i32, ptr %12, align 4
  ret i32 %90
}

define internal i32 @parts_each(ptr %0, i64 %1) {
  %3 = alloca ptr, align 8
  %4 = alloca i64, align 8
  %5 = alloca i32, align 4
  store ptr %0, ptr %3, align 8
  store i64 %1, ptr %4, align 8
  %6 = load i64, ptr %4, align 8
  %7 = load ptr, ptr %3, align 8
  %8 = getelementptr inbounds %struct.pool, ptr %7, i32 0, i32 12
  %9 = load i64, ptr %8, align 8
  %10 = icmp sge i64 %6, %9
  br i1 %10, label %18, label %11

11:
  %12 = load ptr, ptr %3, align 8
  %13 = getelementptr inbounds %struct.pool, ptr %12, i32 0, i32 2
  %14 = getelementptr inbounds %struct.line, ptr %13, i32 0, i32 0
  %15 = load atomic i32, ptr %14 seq_cst, align 8
  store i32 %15, ptr %5, align 4
  %16 = load i32, ptr %5, align 4
  %17 = icmp ne i32 %16, 0
  br label %18

18:
  %19 = phi i1 [ true, %2 ], [ %17, %11 ]
  %20 = zext i1 %19 to i64
  %21 = select i1 %19, i32 8, i32 1
  ret i32 %21
}

define internal void @finish(ptr %0) {
  %2 = alloca ptr, align 8
  %3 = alloca i32, align 4
  %4 = alloca i32, align 4
  %5 = alloca i32, align 4
  %6 = alloca i32, align 4
  %7 = alloca i32, align 4
  %8 = alloca i32, align 4
  store ptr %0, ptr %2, align 8
  %9 = load ptr, ptr %2, align 8
  %10 = getelementptr inbounds %struct.pool, ptr %9, i32 0, i32 9
  %11 = load i32, ptr %10, align 4
  store i32 %11, ptr %3, align 4
  br label %12

12:
  store i32 0, ptr %4, align 4
  br label %13

13:
  %14 = load i32, ptr %4, align 4
  %15 = load i32, ptr %3, align 4
  %16 = icmp ult i32 %14, %15
  br i1 %16, label %17, label %29

17:
  %18 = load ptr, ptr %2, align 8
  %19 = getelementptr inbounds %struct.pool, ptr %18, i32 0, i32 1
  %20 = getelementptr inbounds %struct.line, ptr %19, i32 0, i32 0
  %21 = load atomic i32, ptr %20 seq_cst, align 8
  store i32 %21, ptr %5, align 4
  %22 = load i32, ptr %5, align 4
  %23 = icmp eq i32 %22, 0
  br i1 %23, label %24, label %25

24:
  br label %46

25:
  call void @optgen_spin_hint()
  br label %26

26:
  %27 = load i32, ptr %4, align 4
  %28 = add i32 %27, 1
  store i32 %28, ptr %4, align 4
  br label %13

29:
  %30 = load ptr, ptr %2, align 8
  %31 = getelementptr inbounds %struct.pool, ptr %30, i32 0, i32 15
  store i32 1, ptr %6, align 4
  %32 = load i32, ptr %6, align 4
  store atomic i32 %32, ptr %31 seq_cst, align 8
  %33 = load ptr, ptr %2, align 8
  %34 = getelementptr inbounds %struct.pool, ptr %33, i32 0, i32 1
  %35 = getelementptr inbounds %struct.line, ptr %34, i32 0, i32 0
  %36 = load atomic i32, ptr %35 seq_cst, align 8
  store i32 %36, ptr %8, align 4
  %37 = load i32, ptr %8, align 4
  store i32 %37, ptr %7, align 4
  %38 = load i32, ptr %7, align 4
  %39 = icmp eq i32 %38, 0
  br i1 %39, label %40, label %41

40:
  br label %46

41:
  %42 = load ptr, ptr %2, align 8
  %43 = load ptr, ptr %2, align 8
  %44 = getelementptr inbounds %struct.pool, ptr %43, i32 0, i32 1
  %45 = load i32, ptr %7, align 4
  call void @sleep_on(ptr %42, ptr %44, i32 %45)
  br label %12

46:
  ret void
}

define internal i64 @now(i32 %0) {
  %2 = alloca i32, align 4
  %3 = alloca %struct.timespec, align 8
  store i32 %0, ptr %2, align 4
  %4 = load i32, ptr %2, align 4
  %5 = call i32 @clock_gettime(i32 %4, ptr %3)
  %6 = getelementptr inbounds %struct.timespec, ptr %3, i32 0, i32 0
  %7 = load i64, ptr %6, align 8
  %8 = mul nsw i64 %7, 1000000000
  %9 = getelementptr inbounds %struct.timespec, ptr %3, i32 0, i32 1
  %10 = load i64, ptr %9, align 8
  %11 = add nsw i64 %8, %10
  ret i64 %11
}

define void @optgen_pool_rouse(ptr %0) {
  %2 = alloca ptr, align 8
  %3 = alloca i32, align 4
  %4 = alloca i32, align 4
  store ptr %0, ptr %2, align 8
  %5 = load ptr, ptr %2, align 8
  %6 = getelementptr inbounds %struct.pool, ptr %5, i32 0, i32 0
  %7 = getelementptr inbounds %struct.line, ptr %6, i32 0, i32 0
  store i32 1, ptr %3, align 4
  %8 = load i32, ptr %3, align 4
  %9 = atomicrmw add ptr %7, i32 %8 seq_cst
  store i32 %9, ptr %4, align 4
  %10 = load i32, ptr %4, align 4
  %11 = load ptr, ptr %2, align 8
  %12 = load ptr, ptr %2, align 8
  %13 = getelementptr inbounds %struct.pool, ptr %12, i32 0, i32 0
  call void @wake(ptr %11, ptr %13, i32 2147483647)
  ret void
}

define internal void @wake(ptr %0, ptr %1, i32 %2) {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store i32 %2, ptr %6, align 4
  %7 = load ptr, ptr %4, align 8
  %8 = getelementptr inbounds %struct.pool, ptr %7, i32 0, i32 16
  %9 = load i32, ptr %8, align 4
  %10 = icmp ne i32 %9, 0
  br i1 %10, label %11, label %21

11:
  %12 = load ptr, ptr %4, align 8
  %13 = getelementptr inbounds %struct.pool, ptr %12, i32 0, i32 16
  %14 = load i32, ptr %13, align 4
  %15 = zext i32 %14 to i64
  %16 = load ptr, ptr %5, align 8
  %17 = getelementptr inbounds %struct.line, ptr %16, i32 0, i32 0
  %18 = load i32, ptr %6, align 4
  %19 = sext i32 %18 to i64
  %20 = call i64 (i64, ...) @syscall(i64 %15, ptr %17, i64 129, i64 %19, ptr null, ptr null, i64 0)
  br label %43

21:
  %22 = load ptr, ptr %4, align 8
  %23 = getelementptr inbounds %struct.pool, ptr %22, i32 0, i32 18
  %24 = load ptr, ptr %23, align 8
  %25 = load ptr, ptr %4, align 8
  %26 = getelementptr inbounds %struct.pool, ptr %25, i32 0, i32 22
  %27 = load ptr, ptr %26, align 8
  %28 = call i32 %24(ptr %27)
  %29 = load ptr, ptr %4, align 8
  %30 = getelementptr inbounds %struct.pool, ptr %29, i32 0, i32 21
  %31 = load ptr, ptr %30, align 8
  %32 = load ptr, ptr %4, align 8
  %33 = getelementptr inbounds %struct.pool, ptr %32, i32 0, i32 23
  %34 = load ptr, ptr %33, align 8
  %35 = call i32 %31(ptr %34)
  %36 = load ptr, ptr %4, align 8
  %37 = getelementptr inbounds %struct.pool, ptr %36, i32 0, i32 19
  %38 = load ptr, ptr %37, align 8
  %39 = load ptr, ptr %4, align 8
  %40 = getelementptr inbounds %struct.pool, ptr %39, i32 0, i32 22
  %41 = load ptr, ptr %40, align 8
  %42 = call i32 %38(ptr %41)
  br label %43

43:
  ret void
}

define void @optgen_pool_spin(i32 %0) {
  %2 = alloca i32, align 4
  %3 = alloca i32, align 4
  store i32 %0, ptr %2, align 4
  store i32 0, ptr %3, align 4
  br label %4

4:
  %5 = load i32, ptr %3, align 4
  %6 = load i32, ptr %2, align 4
  %7 = icmp ult i32 %5, %6
  br i1 %7, label %8, label %12

8:
  call void @optgen_spin_hint()
  br label %9

9:
  %10 = load i32, ptr %3, align 4
  %11 = add i32 %10, 1
  store i32 %11, ptr %3, align 4
  br label %4

12:
  ret void
}

declare void @optgen_spin_hint()

define internal void @sleep_on(ptr %0, ptr %1, i32 %2) {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i32, align 4
  %7 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store i32 %2, ptr %6, align 4
  %8 = load ptr, ptr %4, align 8
  %9 = getelementptr inbounds %struct.pool, ptr %8, i32 0, i32 16
  %10 = load i32, ptr %9, align 4
  %11 = icmp ne i32 %10, 0
  br i1 %11, label %12, label %22

12:
  %13 = load ptr, ptr %4, align 8
  %14 = getelementptr inbounds %struct.pool, ptr %13, i32 0, i32 16
  %15 = load i32, ptr %14, align 4
  %16 = zext i32 %15 to i64
  %17 = load ptr, ptr %5, align 8
  %18 = getelementptr inbounds %struct.line, ptr %17, i32 0, i32 0
  %19 = load i32, ptr %6, align 4
  %20 = zext i32 %19 to i64
  %21 = call i64 (i64, ...) @syscall(i64 %16, ptr %18, i64 128, i64 %20, ptr null, ptr null, i64 0)
  br label %55

22:
  %23 = load ptr, ptr %4, align 8
  %24 = getelementptr inbounds %struct.pool, ptr %23, i32 0, i32 18
  %25 = load ptr, ptr %24, align 8
  %26 = load ptr, ptr %4, align 8
  %27 = getelementptr inbounds %struct.pool, ptr %26, i32 0, i32 22
  %28 = load ptr, ptr %27, align 8
  %29 = call i32 %25(ptr %28)
  %30 = load ptr, ptr %5, align 8
  %31 = getelementptr inbounds %struct.line, ptr %30, i32 0, i32 0
  %32 = load atomic i32, ptr %31 seq_cst, align 4
  store i32 %32, ptr %7, align 4
  %33 = load i32, ptr %7, align 4
  %34 = load i32, ptr %6, align 4
  %35 = icmp eq i32 %33, %34
  br i1 %35, label %36, label %47

36:
  %37 = load ptr, ptr %4, align 8
  %38 = getelementptr inbounds %struct.pool, ptr %37, i32 0, i32 20
  %39 = load ptr, ptr %38, align 8
  %40 = load ptr, ptr %4, align 8
  %41 = getelementptr inbounds %struct.pool, ptr %40, i32 0, i32 23
  %42 = load ptr, ptr %41, align 8
  %43 = load ptr, ptr %4, align 8
  %44 = getelementptr inbounds %struct.pool, ptr %43, i32 0, i32 22
  %45 = load ptr, ptr %44, align 8
  %46 = call i32 %39(ptr %42, ptr %45)
  br label %47

47:
  %48 = load ptr, ptr %4, align 8
  %49 = getelementptr inbounds %struct.pool, ptr %48, i32 0, i32 19
  %50 = load ptr, ptr %49, align 8
  %51 = load ptr, ptr %4, align 8
  %52 = getelementptr inbounds %struct.pool, ptr %51, i32 0, i32 22
  %53 = load ptr, ptr %52, align 8
  %54 = call i32 %50(ptr %53)
  br label %55

55:
  ret void
}

declare i64 @syscall(i64, ...)

declare i32 @clock_gettime(i32, ptr)
