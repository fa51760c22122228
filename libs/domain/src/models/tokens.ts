const charactersPerToken = 4;

/** An estimate where no provider has counted: four characters of the JSON are a token. */
export const estimateTokens = (value: unknown): number => Math.ceil((JSON.stringify(value) ?? '').length / charactersPerToken);
