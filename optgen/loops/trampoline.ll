; Made from trampoline.c by `python -m optgen.objectcode.generate`, with clang 22.1.8.
; SHA-256 of trampoline.c: 7afd7551fafa54af292c0c242e11aac0f852bb1a35eb87cf4c984a2ed68e2b94

%struct.python = type { ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, [2 x ptr], ptr, i64, ptr, ptr }
%struct.entry = type { ptr, ptr, i64, i64, ptr }
%struct.kernel = type { i64, ptr, [2 x %struct.entry] }
%struct.object = type { i64, ptr }
%struct.array = type { %struct.object, ptr, i32, ptr, ptr, ptr, ptr, i32 }

@p = internal global ptr null, align 8

define void @optgen_loops_start(ptr %0) {
  %2 = alloca ptr, align 8
  store ptr %0, ptr %2, align 8
  %3 = load ptr, ptr %2, align 8
  store ptr %3, ptr @p, align 8
  ret void
}

define ptr @optgen_loops_call(ptr %0, ptr %1, i64 %2, ptr %3) {
  %5 = alloca ptr, align 8
  %6 = alloca ptr, align 8
  %7 = alloca ptr, align 8
  %8 = alloca i64, align 8
  %9 = alloca ptr, align 8
  %10 = alloca [31 x i64], align 16
  %11 = alloca i64, align 8
  %12 = alloca ptr, align 8
  %13 = alloca ptr, align 8
  %14 = alloca ptr, align 8
  %15 = alloca ptr, align 8
  %16 = alloca ptr, align 8
  %17 = alloca [2 x i64], align 16
  store ptr %0, ptr %6, align 8
  store ptr %1, ptr %7, align 8
  store i64 %2, ptr %8, align 8
  store ptr %3, ptr %9, align 8
  %18 = load ptr, ptr @p, align 8
  %19 = getelementptr inbounds %struct.python, ptr %18, i32 0, i32 0
  %20 = load ptr, ptr %19, align 8
  %21 = load ptr, ptr %6, align 8
  %22 = load ptr, ptr @p, align 8
  %23 = getelementptr inbounds %struct.python, ptr %22, i32 0, i32 12
  %24 = load ptr, ptr %23, align 8
  %25 = call ptr %20(ptr %21, ptr %24)
  store ptr %25, ptr %12, align 8
  %26 = load ptr, ptr %12, align 8
  %27 = icmp ne ptr %26, null
  br i1 %27, label %29, label %28

28:
  store ptr null, ptr %5, align 8
  br label %146

29:
  %30 = load ptr, ptr @p, align 8
  %31 = getelementptr inbounds %struct.python, ptr %30, i32 0, i32 3
  %32 = load ptr, ptr %31, align 8
  %33 = load ptr, ptr %12, align 8
  %34 = call i64 %32(ptr %33)
  %35 = inttoptr i64 %34 to ptr
  store ptr %35, ptr %13, align 8
  %36 = load ptr, ptr @p, align 8
  %37 = getelementptr inbounds %struct.python, ptr %36, i32 0, i32 9
  %38 = load ptr, ptr %37, align 8
  %39 = load ptr, ptr %12, align 8
  call void %38(ptr %39)
  %40 = load ptr, ptr %13, align 8
  %41 = icmp ne ptr %40, null
  br i1 %41, label %42, label %49

42:
  %43 = load ptr, ptr %13, align 8
  %44 = load ptr, ptr %7, align 8
  %45 = load i64, ptr %8, align 8
  %46 = load ptr, ptr %9, align 8
  %47 = getelementptr inbounds [31 x i64], ptr %10, i64 0, i64 0
  %48 = call ptr @prepare(ptr %43, ptr %44, i64 %45, ptr %46, ptr %47, ptr %11)
  br label %50

49:
  br label %50

50:
  %51 = phi ptr [ %48, %42 ], [ null, %49 ]
  store ptr %51, ptr %14, align 8
  store ptr null, ptr %15, align 8
  %52 = load ptr, ptr @p, align 8
  %53 = getelementptr inbounds %struct.python, ptr %52, i32 0, i32 10
  %54 = load ptr, ptr %53, align 8
  store ptr %54, ptr %16, align 8
  %55 = load ptr, ptr %14, align 8
  %56 = icmp ne ptr %55, null
  br i1 %56, label %80, label %57

57:
  %58 = load ptr, ptr @p, align 8
  %59 = getelementptr inbounds %struct.python, ptr %58, i32 0, i32 0
  %60 = load ptr, ptr %59, align 8
  %61 = load ptr, ptr %6, align 8
  %62 = load ptr, ptr @p, align 8
  %63 = getelementptr inbounds %struct.python, ptr %62, i32 0, i32 13
  %64 = load ptr, ptr %63, align 8
  %65 = call ptr %60(ptr %61, ptr %64)
  store ptr %65, ptr %15, align 8
  %66 = load ptr, ptr %15, align 8
  %67 = icmp ne ptr %66, null
  br i1 %67, label %68, label %77

68:
  %69 = load ptr, ptr @p, align 8
  %70 = getelementptr inbounds %struct.python, ptr %69, i32 0, i32 1
  %71 = load ptr, ptr %70, align 8
  %72 = load ptr, ptr %15, align 8
  %73 = load ptr, ptr %7, align 8
  %74 = load i64, ptr %8, align 8
  %75 = load ptr, ptr %9, align 8
  %76 = call ptr %71(ptr %72, ptr %73, i64 %74, ptr %75)
  br label %78

77:
  br label %78

78:
  %79 = phi ptr [ %76, %68 ], [ null, %77 ]
  store ptr %79, ptr %16, align 8
  br label %104

80:
  %81 = load i64, ptr %11, align 8
  %82 = load ptr, ptr @p, align 8
  %83 = getelementptr inbounds %struct.python, ptr %82, i32 0, i32 19
  %84 = load i64, ptr %83, align 8
  %85 = icmp slt i64 %81, %84
  br i1 %85, label %86, label %93

86:
  %87 = load ptr, ptr %14, align 8
  %88 = getelementptr inbounds [31 x i64], ptr %10, i64 0, i64 0
  call void @run_here(ptr %87, ptr %88)
  %89 = load ptr, ptr @p, align 8
  %90 = getelementptr inbounds %struct.python, ptr %89, i32 0, i32 8
  %91 = load ptr, ptr %90, align 8
  %92 = load ptr, ptr %16, align 8
  call void %91(ptr %92)
  br label %103

93:
  %94 = getelementptr inbounds [31 x i64], ptr %10, i64 0, i64 0
  %95 = ptrtoint ptr %94 to i64
  store i64 %95, ptr %17, align 8
  %96 = getelementptr inbounds i64, ptr %17, i64 1
  %97 = load i64, ptr %11, align 8
  store i64 %97, ptr %96, align 8
  %98 = load ptr, ptr %14, align 8
  %99 = getelementptr inbounds %struct.entry, ptr %98, i32 0, i32 4
  %100 = load ptr, ptr %99, align 8
  %101 = getelementptr inbounds [2 x i64], ptr %17, i64 0, i64 0
  %102 = call ptr @call_with_ints(ptr %100, ptr %101, i64 2)
  store ptr %102, ptr %16, align 8
  br label %103

103:
  br label %104

104:
  %105 = load ptr, ptr %14, align 8
  %106 = icmp ne ptr %105, null
  br i1 %106, label %107, label %136

107:
  %108 = load ptr, ptr %16, align 8
  %109 = icmp ne ptr %108, null
  br i1 %109, label %110, label %136

110:
  %111 = getelementptr inbounds [31 x i64], ptr %10, i64 0, i64 0
  %112 = load i64, ptr %111, align 16
  %113 = icmp slt i64 %112, 0
  br i1 %113, label %114, label %136

114:
  %115 = load ptr, ptr @p, align 8
  %116 = getelementptr inbounds %struct.python, ptr %115, i32 0, i32 9
  %117 = load ptr, ptr %116, align 8
  %118 = load ptr, ptr %16, align 8
  call void %117(ptr %118)
  %119 = load ptr, ptr @p, align 8
  %120 = getelementptr inbounds %struct.python, ptr %119, i32 0, i32 0
  %121 = load ptr, ptr %120, align 8
  %122 = load ptr, ptr %6, align 8
  %123 = load ptr, ptr @p, align 8
  %124 = getelementptr inbounds %struct.python, ptr %123, i32 0, i32 14
  %125 = load ptr, ptr %124, align 8
  %126 = call ptr %121(ptr %122, ptr %125)
  store ptr %126, ptr %15, align 8
  %127 = load ptr, ptr %15, align 8
  %128 = icmp ne ptr %127, null
  br i1 %128, label %129, label %133

129:
  %130 = load ptr, ptr %15, align 8
  %131 = getelementptr inbounds [31 x i64], ptr %10, i64 0, i64 1
  %132 = call ptr @call_with_ints(ptr %130, ptr %131, i64 1)
  br label %134

133:
  br label %134

134:
  %135 = phi ptr [ %132, %129 ], [ null, %133 ]
  store ptr %135, ptr %16, align 8
  br label %136

136:
  %137 = load ptr, ptr %15, align 8
  %138 = icmp ne ptr %137, null
  br i1 %138, label %139, label %144

139:
  %140 = load ptr, ptr @p, align 8
  %141 = getelementptr inbounds %struct.python, ptr %140, i32 0, i32 9
  %142 = load ptr, ptr %141, align 8
  %143 = load ptr, ptr %15, align 8
  call void %142(ptr %143)
  br label %144

144:
  %145 = load ptr, ptr %16, align 8
  store ptr %145, ptr %5, align 8
  br label %146

146:
  %147 = load ptr, ptr %5, align 8
  ret ptr %147
}

define internal ptr @prepare(ptr %0, ptr %1, i64 %2, ptr %3, ptr %4, ptr %5) {
  %7 = alloca ptr, align 8
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca i64, align 8
  %11 = alloca ptr, align 8
  %12 = alloca ptr, align 8
  %13 = alloca ptr, align 8
  %14 = alloca ptr, align 8
  %15 = alloca i64, align 8
  %16 = alloca i64, align 8
  store ptr %0, ptr %8, align 8
  store ptr %1, ptr %9, align 8
  store i64 %2, ptr %10, align 8
  store ptr %3, ptr %11, align 8
  store ptr %4, ptr %12, align 8
  store ptr %5, ptr %13, align 8
  %17 = load ptr, ptr @p, align 8
  %18 = getelementptr inbounds %struct.python, ptr %17, i32 0, i32 18
  %19 = load ptr, ptr %18, align 8
  %20 = load i64, ptr %19, align 8
  %21 = icmp ne i64 %20, 0
  br i1 %21, label %34, label %22

22:
  %23 = load ptr, ptr %8, align 8
  %24 = getelementptr inbounds %struct.kernel, ptr %23, i32 0, i32 0
  %25 = load i64, ptr %24, align 8
  %26 = icmp sgt i64 %25, 28
  br i1 %26, label %34, label %27

27:
  %28 = load i64, ptr %10, align 8
  %29 = load ptr, ptr %8, align 8
  %30 = getelementptr inbounds %struct.kernel, ptr %29, i32 0, i32 0
  %31 = load i64, ptr %30, align 8
  %32 = add nsw i64 %31, 2
  %33 = icmp ne i64 %28, %32
  br i1 %33, label %34, label %35

34:
  store ptr null, ptr %7, align 8
  br label %148

35:
  %36 = load ptr, ptr %11, align 8
  %37 = icmp ne ptr %36, null
  br i1 %37, label %38, label %56

38:
  %39 = load ptr, ptr @p, align 8
  %40 = getelementptr inbounds %struct.python, ptr %39, i32 0, i32 4
  %41 = load ptr, ptr %40, align 8
  %42 = load ptr, ptr %11, align 8
  %43 = call i64 %41(ptr %42)
  %44 = icmp ne i64 %43, 1
  br i1 %44, label %55, label %45

45:
  %46 = load ptr, ptr @p, align 8
  %47 = getelementptr inbounds %struct.python, ptr %46, i32 0, i32 5
  %48 = load ptr, ptr %47, align 8
  %49 = load ptr, ptr %11, align 8
  %50 = call ptr %48(ptr %49, i64 0)
  %51 = load ptr, ptr @p, align 8
  %52 = getelementptr inbounds %struct.python, ptr %51, i32 0, i32 11
  %53 = load ptr, ptr %52, align 8
  %54 = icmp ne ptr %50, %53
  br i1 %54, label %55, label %56

55:
  store ptr null, ptr %7, align 8
  br label %148

56:
  %57 = load ptr, ptr %8, align 8
  %58 = load ptr, ptr %9, align 8
  %59 = getelementptr inbounds ptr, ptr %58, i64 2
  %60 = load ptr, ptr %59, align 8
  %61 = call ptr @code_for(ptr %57, ptr %60)
  store ptr %61, ptr %14, align 8
  store i64 0, ptr %15, align 8
  %62 = load ptr, ptr %14, align 8
  %63 = icmp ne ptr %62, null
  br i1 %63, label %64, label %99

64:
  %65 = load ptr, ptr %9, align 8
  %66 = getelementptr inbounds ptr, ptr %65, i64 0
  %67 = load ptr, ptr %66, align 8
  %68 = load ptr, ptr %12, align 8
  %69 = getelementptr inbounds i64, ptr %68, i64 0
  %70 = call i32 @is_int(ptr %67, ptr %69)
  %71 = icmp ne i32 %70, 0
  br i1 %71, label %72, label %99

72:
  %73 = load ptr, ptr %9, align 8
  %74 = getelementptr inbounds ptr, ptr %73, i64 1
  %75 = load ptr, ptr %74, align 8
  %76 = load ptr, ptr %13, align 8
  %77 = call i32 @is_int(ptr %75, ptr %76)
  %78 = icmp ne i32 %77, 0
  br i1 %78, label %79, label %99

79:
  %80 = load ptr, ptr %11, align 8
  %81 = icmp ne ptr %80, null
  br i1 %81, label %82, label %89

82:
  %83 = load ptr, ptr %9, align 8
  %84 = load i64, ptr %10, align 8
  %85 = getelementptr inbounds ptr, ptr %83, i64 %84
  %86 = load ptr, ptr %85, align 8
  %87 = call i32 @is_int(ptr %86, ptr %15)
  %88 = icmp ne i32 %87, 0
  br i1 %88, label %89, label %99

89:
  %90 = load i64, ptr %15, align 8
  %91 = icmp slt i64 %90, 0
  br i1 %91, label %99, label %92

92:
  %93 = load i64, ptr %15, align 8
  %94 = load ptr, ptr %14, align 8
  %95 = getelementptr inbounds %struct.entry, ptr %94, i32 0, i32 3
  %96 = load i64, ptr %95, align 8
  %97 = sdiv i64 9223372036854775807, %96
  %98 = icmp sgt i64 %93, %97
  br i1 %98, label %99, label %100

99:
  store ptr null, ptr %7, align 8
  br label %148

100:
  %101 = load i64, ptr %15, align 8
  %102 = load ptr, ptr %14, align 8
  %103 = getelementptr inbounds %struct.entry, ptr %102, i32 0, i32 3
  %104 = load i64, ptr %103, align 8
  %105 = mul nsw i64 %101, %104
  %106 = load ptr, ptr %12, align 8
  %107 = getelementptr inbounds i64, ptr %106, i64 1
  store i64 %105, ptr %107, align 8
  %108 = load ptr, ptr %14, align 8
  %109 = getelementptr inbounds %struct.entry, ptr %108, i32 0, i32 2
  %110 = load i64, ptr %109, align 8
  %111 = load ptr, ptr %12, align 8
  %112 = getelementptr inbounds i64, ptr %111, i64 2
  store i64 %110, ptr %112, align 8
  store i64 0, ptr %16, align 8
  br label %113

113:
  %114 = load i64, ptr %16, align 8
  %115 = load ptr, ptr %8, align 8
  %116 = getelementptr inbounds %struct.kernel, ptr %115, i32 0, i32 0
  %117 = load i64, ptr %116, align 8
  %118 = icmp slt i64 %114, %117
  br i1 %118, label %119, label %146

119:
  %120 = load ptr, ptr %9, align 8
  %121 = load i64, ptr %16, align 8
  %122 = add nsw i64 2, %121
  %123 = getelementptr inbounds ptr, ptr %120, i64 %122
  %124 = load ptr, ptr %123, align 8
  %125 = load ptr, ptr %8, align 8
  %126 = getelementptr inbounds %struct.kernel, ptr %125, i32 0, i32 1
  %127 = load ptr, ptr %126, align 8
  %128 = load i64, ptr %16, align 8
  %129 = getelementptr inbounds i8, ptr %127, i64 %128
  %130 = load i8, ptr %129, align 1
  %131 = zext i8 %130 to i32
  %132 = load ptr, ptr %14, align 8
  %133 = getelementptr inbounds %struct.entry, ptr %132, i32 0, i32 0
  %134 = load ptr, ptr %133, align 8
  %135 = load ptr, ptr %12, align 8
  %136 = load i64, ptr %16, align 8
  %137 = add nsw i64 3, %136
  %138 = getelementptr inbounds i64, ptr %135, i64 %137
  %139 = call i32 @is_argument(ptr %124, i32 %131, ptr %134, ptr %138)
  %140 = icmp ne i32 %139, 0
  br i1 %140, label %142, label %141

141:
  store ptr null, ptr %7, align 8
  br label %148

142:
  br label %143

143:
  %144 = load i64, ptr %16, align 8
  %145 = add nsw i64 %144, 1
  store i64 %145, ptr %16, align 8
  br label %113

146:
  %147 = load ptr, ptr %14, align 8
  store ptr %147, ptr %7, align 8
  br label %148

148:
  %149 = load ptr, ptr %7, align 8
  ret ptr %149
}

define internal void @run_here(ptr %0, ptr %1) {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca i32, align 4
  store ptr %0, ptr %3, align 8
  store ptr %1, ptr %4, align 8
  %6 = load ptr, ptr %3, align 8
  %7 = getelementptr inbounds %struct.entry, ptr %6, i32 0, i32 2
  %8 = load i64, ptr %7, align 8
  %9 = icmp ne i64 %8, 0
  br i1 %9, label %10, label %20

10:
  %11 = load ptr, ptr @p, align 8
  %12 = getelementptr inbounds %struct.python, ptr %11, i32 0, i32 20
  %13 = load ptr, ptr %12, align 8
  %14 = icmp ne ptr %13, null
  br i1 %14, label %15, label %20

15:
  %16 = load ptr, ptr @p, align 8
  %17 = getelementptr inbounds %struct.python, ptr %16, i32 0, i32 20
  %18 = load ptr, ptr %17, align 8
  %19 = call i32 %18()
  br label %21

20:
  br label %21

21:
  %22 = phi i32 [ %19, %15 ], [ 1, %20 ]
  store i32 %22, ptr %5, align 4
  %23 = load i32, ptr %5, align 4
  %24 = icmp sgt i32 %23, 1
  br i1 %24, label %25, label %29

25:
  %26 = load ptr, ptr @p, align 8
  %27 = getelementptr inbounds %struct.python, ptr %26, i32 0, i32 21
  %28 = load ptr, ptr %27, align 8
  call void %28(i32 1)
  br label %29

29:
  %30 = load ptr, ptr %3, align 8
  %31 = getelementptr inbounds %struct.entry, ptr %30, i32 0, i32 1
  %32 = load ptr, ptr %31, align 8
  %33 = load ptr, ptr %4, align 8
  call void %32(ptr %33, i64 0, i64 1)
  %34 = load i32, ptr %5, align 4
  %35 = icmp sgt i32 %34, 1
  br i1 %35, label %36, label %41

36:
  %37 = load ptr, ptr @p, align 8
  %38 = getelementptr inbounds %struct.python, ptr %37, i32 0, i32 21
  %39 = load ptr, ptr %38, align 8
  %40 = load i32, ptr %5, align 4
  call void %39(i32 %40)
  br label %41

41:
  ret void
}

define internal ptr @call_with_ints(ptr %0, ptr %1, i64 %2) {
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i64, align 8
  %7 = alloca [2 x ptr], align 16
  %8 = alloca ptr, align 8
  %9 = alloca i64, align 8
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  store i64 %2, ptr %6, align 8
  store ptr null, ptr %8, align 8
  store i64 0, ptr %9, align 8
  br label %10

10:
  %11 = load i64, ptr %9, align 8
  %12 = load i64, ptr %6, align 8
  %13 = icmp slt i64 %11, %12
  br i1 %13, label %14, label %26

14:
  %15 = load ptr, ptr @p, align 8
  %16 = getelementptr inbounds %struct.python, ptr %15, i32 0, i32 2
  %17 = load ptr, ptr %16, align 8
  %18 = load ptr, ptr %5, align 8
  %19 = load i64, ptr %9, align 8
  %20 = getelementptr inbounds i64, ptr %18, i64 %19
  %21 = load i64, ptr %20, align 8
  %22 = call ptr %17(i64 %21)
  %23 = load i64, ptr %9, align 8
  %24 = getelementptr inbounds [2 x ptr], ptr %7, i64 0, i64 %23
  store ptr %22, ptr %24, align 8
  %25 = icmp ne ptr %22, null
  br label %26

26:
  %27 = phi i1 [ false, %10 ], [ %25, %14 ]
  br i1 %27, label %28, label %31

28:
  %29 = load i64, ptr %9, align 8
  %30 = add nsw i64 %29, 1
  store i64 %30, ptr %9, align 8
  br label %10

31:
  %32 = load i64, ptr %9, align 8
  %33 = load i64, ptr %6, align 8
  %34 = icmp eq i64 %32, %33
  br i1 %34, label %35, label %43

35:
  %36 = load ptr, ptr @p, align 8
  %37 = getelementptr inbounds %struct.python, ptr %36, i32 0, i32 1
  %38 = load ptr, ptr %37, align 8
  %39 = load ptr, ptr %4, align 8
  %40 = getelementptr inbounds [2 x ptr], ptr %7, i64 0, i64 0
  %41 = load i64, ptr %6, align 8
  %42 = call ptr %38(ptr %39, ptr %40, i64 %41, ptr null)
  store ptr %42, ptr %8, align 8
  br label %43

43:
  br label %44

44:
  %45 = load i64, ptr %9, align 8
  %46 = icmp sgt i64 %45, 0
  br i1 %46, label %47, label %55

47:
  %48 = load ptr, ptr @p, align 8
  %49 = getelementptr inbounds %struct.python, ptr %48, i32 0, i32 9
  %50 = load ptr, ptr %49, align 8
  %51 = load i64, ptr %9, align 8
  %52 = add nsw i64 %51, -1
  store i64 %52, ptr %9, align 8
  %53 = getelementptr inbounds [2 x ptr], ptr %7, i64 0, i64 %52
  %54 = load ptr, ptr %53, align 8
  call void %50(ptr %54)
  br label %44

55:
  %56 = load ptr, ptr %8, align 8
  ret ptr %56
}

define internal ptr @code_for(ptr %0, ptr %1) {
  %3 = alloca ptr, align 8
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  %6 = alloca i32, align 4
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  %7 = load ptr, ptr %5, align 8
  %8 = getelementptr inbounds %struct.object, ptr %7, i32 0, i32 1
  %9 = load ptr, ptr %8, align 8
  %10 = load ptr, ptr @p, align 8
  %11 = getelementptr inbounds %struct.python, ptr %10, i32 0, i32 16
  %12 = load ptr, ptr %11, align 8
  %13 = icmp ne ptr %9, %12
  br i1 %13, label %14, label %15

14:
  store ptr null, ptr %3, align 8
  br label %54

15:
  store i32 0, ptr %6, align 4
  br label %16

16:
  %17 = load i32, ptr %6, align 4
  %18 = icmp slt i32 %17, 2
  br i1 %18, label %19, label %53

19:
  %20 = load ptr, ptr %4, align 8
  %21 = getelementptr inbounds %struct.kernel, ptr %20, i32 0, i32 2
  %22 = load i32, ptr %6, align 4
  %23 = sext i32 %22 to i64
  %24 = getelementptr inbounds [2 x %struct.entry], ptr %21, i64 0, i64 %23
  %25 = getelementptr inbounds %struct.entry, ptr %24, i32 0, i32 0
  %26 = load ptr, ptr %25, align 8
  %27 = load ptr, ptr %5, align 8
  %28 = getelementptr inbounds %struct.array, ptr %27, i32 0, i32 6
  %29 = load ptr, ptr %28, align 8
  %30 = icmp eq ptr %26, %29
  br i1 %30, label %31, label %49

31:
  %32 = load ptr, ptr %4, align 8
  %33 = getelementptr inbounds %struct.kernel, ptr %32, i32 0, i32 2
  %34 = load i32, ptr %6, align 4
  %35 = sext i32 %34 to i64
  %36 = getelementptr inbounds [2 x %struct.entry], ptr %33, i64 0, i64 %35
  %37 = getelementptr inbounds %struct.entry, ptr %36, i32 0, i32 1
  %38 = load ptr, ptr %37, align 8
  %39 = icmp ne ptr %38, null
  br i1 %39, label %40, label %46

40:
  %41 = load ptr, ptr %4, align 8
  %42 = getelementptr inbounds %struct.kernel, ptr %41, i32 0, i32 2
  %43 = load i32, ptr %6, align 4
  %44 = sext i32 %43 to i64
  %45 = getelementptr inbounds [2 x %struct.entry], ptr %42, i64 0, i64 %44
  br label %47

46:
  br label %47

47:
  %48 = phi ptr [ %45, %40 ], [ null, %46 ]
  store ptr %48, ptr %3, align 8
  br label %54

49:
  br label %50

50:
  %51 = load i32, ptr %6, align 4
  %52 = add nsw i32 %51, 1
  store i32 %52, ptr %6, align 4
  br label %16

53:
  store ptr null, ptr %3, align 8
  br label %54

54:
  %55 = load ptr, ptr %3, align 8
  ret ptr %55
}

define internal i32 @is_int(ptr %0, ptr %1) {
  %3 = alloca i32, align 4
  %4 = alloca ptr, align 8
  %5 = alloca ptr, align 8
  store ptr %0, ptr %4, align 8
  store ptr %1, ptr %5, align 8
  %6 = load ptr, ptr %4, align 8
  %7 = getelementptr inbounds %struct.object, ptr %6, i32 0, i32 1
  %8 = load ptr, ptr %7, align 8
  %9 = load ptr, ptr @p, align 8
  %10 = getelementptr inbounds %struct.python, ptr %9, i32 0, i32 15
  %11 = load ptr, ptr %10, align 8
  %12 = icmp ne ptr %8, %11
  br i1 %12, label %13, label %14

13:
  store i32 0, ptr %3, align 4
  br label %35

14:
  %15 = load ptr, ptr @p, align 8
  %16 = getelementptr inbounds %struct.python, ptr %15, i32 0, i32 3
  %17 = load ptr, ptr %16, align 8
  %18 = load ptr, ptr %4, align 8
  %19 = call i64 %17(ptr %18)
  %20 = load ptr, ptr %5, align 8
  store i64 %19, ptr %20, align 8
  %21 = load ptr, ptr %5, align 8
  %22 = load i64, ptr %21, align 8
  %23 = icmp ne i64 %22, -1
  br i1 %23, label %30, label %24

24:
  %25 = load ptr, ptr @p, align 8
  %26 = getelementptr inbounds %struct.python, ptr %25, i32 0, i32 6
  %27 = load ptr, ptr %26, align 8
  %28 = call ptr %27()
  %29 = icmp ne ptr %28, null
  br i1 %29, label %31, label %30

30:
  store i32 1, ptr %3, align 4
  br label %35

31:
  %32 = load ptr, ptr @p, align 8
  %33 = getelementptr inbounds %struct.python, ptr %32, i32 0, i32 7
  %34 = load ptr, ptr %33, align 8
  call void %34()
  store i32 0, ptr %3, align 4
  br label %35

35:
  %36 = load i32, ptr %3, align 4
  ret i32 %36
}

define internal i32 @is_argument(ptr %0, i32 %1, ptr %2, ptr %3) {
  %5 = alloca i32, align 4
  %6 = alloca ptr, align 8
  %7 = alloca i32, align 4
  %8 = alloca ptr, align 8
  %9 = alloca ptr, align 8
  %10 = alloca ptr, align 8
  store ptr %0, ptr %6, align 8
  store i32 %1, ptr %7, align 4
  store ptr %2, ptr %8, align 8
  store ptr %3, ptr %9, align 8
  %11 = load i32, ptr %7, align 4
  %12 = icmp eq i32 %11, 105
  br i1 %12, label %13, label %17

13:
  %14 = load ptr, ptr %6, align 8
  %15 = load ptr, ptr %9, align 8
  %16 = call i32 @is_int(ptr %14, ptr %15)
  store i32 %16, ptr %5, align 4
  br label %67

17:
  %18 = load ptr, ptr %9, align 8
  store i64 0, ptr %18, align 8
  %19 = load ptr, ptr %6, align 8
  %20 = load ptr, ptr @p, align 8
  %21 = getelementptr inbounds %struct.python, ptr %20, i32 0, i32 10
  %22 = load ptr, ptr %21, align 8
  %23 = icmp eq ptr %19, %22
  br i1 %23, label %24, label %25

24:
  store i32 1, ptr %5, align 4
  br label %67

25:
  %26 = load ptr, ptr %6, align 8
  %27 = getelementptr inbounds %struct.object, ptr %26, i32 0, i32 1
  %28 = load ptr, ptr %27, align 8
  %29 = load ptr, ptr @p, align 8
  %30 = getelementptr inbounds %struct.python, ptr %29, i32 0, i32 16
  %31 = load ptr, ptr %30, align 8
  %32 = icmp ne ptr %28, %31
  br i1 %32, label %33, label %34

33:
  store i32 0, ptr %5, align 4
  br label %67

34:
  %35 = load ptr, ptr %6, align 8
  store ptr %35, ptr %10, align 8
  %36 = load ptr, ptr %10, align 8
  %37 = getelementptr inbounds %struct.array, ptr %36, i32 0, i32 1
  %38 = load ptr, ptr %37, align 8
  %39 = ptrtoint ptr %38 to i64
  %40 = load ptr, ptr %9, align 8
  store i64 %39, ptr %40, align 8
  %41 = load ptr, ptr %10, align 8
  %42 = getelementptr inbounds %struct.array, ptr %41, i32 0, i32 6
  %43 = load ptr, ptr %42, align 8
  %44 = load i32, ptr %7, align 4
  %45 = icmp eq i32 %44, 97
  br i1 %45, label %46, label %48

46:
  %47 = load ptr, ptr %8, align 8
  br label %55

48:
  %49 = load ptr, ptr @p, align 8
  %50 = getelementptr inbounds %struct.python, ptr %49, i32 0, i32 17
  %51 = load i32, ptr %7, align 4
  %52 = sext i32 %51 to i64
  %53 = getelementptr inbounds [2 x ptr], ptr %50, i64 0, i64 %52
  %54 = load ptr, ptr %53, align 8
  br label %55

55:
  %56 = phi ptr [ %47, %46 ], [ %54, %48 ]
  %57 = icmp eq ptr %43, %56
  br i1 %57, label %58, label %64

58:
  %59 = load ptr, ptr %10, align 8
  %60 = getelementptr inbounds %struct.array, ptr %59, i32 0, i32 7
  %61 = load i32, ptr %60, align 8
  %62 = and i32 %61, 1
  %63 = icmp ne i32 %62, 0
  br label %64

64:
  %65 = phi i1 [ false, %55 ], [ %63, %58 ]
  %66 = zext i1 %65 to i32
  store i32 %66, ptr %5, align 4
  br label %67

67:
  %68 = load i32, ptr %5, align 4
  ret i32 %68
}
